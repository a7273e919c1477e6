"""The stream of everything: each committed change once, in one order, whenever it becomes visible."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import asyncpg
import pytest
from tests.api.event_reader import Ear, listen, voice
from tests.api.service_process import Served
from tests.engine_statements import call
from tests.worker.world import until

from kairos import Kairos, operations


async def cancelled_jobs(app: Kairos, count: int) -> list[int]:
    """So many changes, each of a job of its own."""
    jobs = await app.run(operations.enqueue_many([call() for _ in range(count)]))
    for job in jobs:
        await app.cancel(job.id)
    return [job.id for job in jobs]


async def history(app: Kairos) -> list[int]:
    async with app.store.connection() as connection:
        return [row["id"] for row in await connection.fetch("select id from kairos.history order by id")]


async def started(served: Served, path: str = "/api/events") -> Ear:
    """A reader that hears whatever is committed from here on."""
    ear = await listen(served.port, path)
    if "summary" in path:
        (event,) = await ear.events(1)
        assert (event.name, event.data) == ("begin", {})
    else:
        hub = await _hub(served)
        await until(lambda: hub.is_ready)
    return ear


async def _hub(served: Served) -> Any:
    from kairos.api.event_hub import EventHub

    return await served.service.component(EventHub)


async def test_each_change_of_any_job_is_told(app: Kairos, served: Served) -> None:
    ear = await started(served)
    job = await voice(app, queue="mail")
    await job.end()
    (gone,) = await cancelled_jobs(app, 1)
    done, cancelled = await ear.events(2)
    at, cursor = done.data.pop("at"), done.data.pop("cursor")
    assert (done.name, done.id, at[-1]) == ("change", str(cursor), "Z")
    assert done.data == {
        "job": job.job,
        "action": "act",
        "queue": "mail",
        "verb": "done",
        "from": "running",
        "to": "success",
        "step": "run",
    }
    assert (cancelled.data["job"], cancelled.data["verb"]) == (gone, "cancel")
    ear.close()


async def test_resuming_at_every_cursor_gives_the_same_whole(app: Kairos, served: Served) -> None:
    await cancelled_jobs(app, 4)
    numbers = await history(app)
    ears = [await listen(served.port, f"/api/events?cursor={number}") for number in (0, *numbers)]
    await cancelled_jobs(app, 4)
    numbers = await history(app)
    for place, ear in enumerate(ears):
        heard = [event.data["cursor"] for event in await ear.events(len(numbers) - place)]
        assert heard == numbers[place:]
        ear.close()


async def test_a_change_that_becomes_visible_late_is_neither_missed_nor_out_of_order(
    app: Kairos, served: Served
) -> None:
    ear = await started(served)
    first, second, third = await app.run(operations.enqueue_many([call() for _ in range(3)]))
    held = await asyncpg.connect(app.store.url)
    try:
        transaction = held.transaction()
        await transaction.start()
        await app.on(held).cancel(first.id)  # its number is drawn, and not yet to be seen
        await app.cancel(second.id)
        await app.cancel(third.id)
        hub = await _hub(served)
        turns = hub.turns
        await until(lambda: hub.turns > turns + 5)  # it has polled, and must not have sent the later ones
        await transaction.commit()
    finally:
        await held.close()
    heard = await ear.events(3)
    assert [event.data["job"] for event in heard] == [first.id, second.id, third.id]
    assert [event.data["cursor"] for event in heard] == await history(app)
    ear.close()


async def test_a_long_transaction_that_changes_no_job_holds_nobody_up(app: Kairos, served: Served) -> None:
    held = await asyncpg.connect(app.store.url)
    try:
        await held.execute("begin; create temporary table mine (n int); select pg_current_xact_id()")
        ear = await started(served)
        (job,) = await cancelled_jobs(app, 1)
        (event,) = await ear.events(1)
        assert event.data["job"] == job
        ear.close()
    finally:
        await held.close()


async def test_changes_that_were_undone_leave_no_trace_and_no_wait(app: Kairos, served: Served) -> None:
    ear = await started(served)
    job = await app.run(operations.enqueue(call()))
    held = await asyncpg.connect(app.store.url)
    await held.execute("begin")
    await app.on(held).cancel(job.id)
    await held.close()
    (other,) = await cancelled_jobs(app, 1)
    (event,) = await ear.events(1)
    assert event.data["job"] == other
    ear.close()


async def test_a_storm_of_writers_is_told_whole_and_in_order(app: Kairos, served: Served) -> None:
    ear = await started(served)
    await asyncio.gather(*(cancelled_jobs(app, 25) for _ in range(8)))
    heard = [event.data["cursor"] for event in await ear.events(200)]
    assert heard == await history(app)
    ear.close()


async def test_a_pulse_counts_what_passed_each_edge(app: Kairos, served: Served) -> None:
    ear = await started(served, "/api/events?summary=true")
    await cancelled_jobs(app, 7)
    counts: dict[tuple[str, str, str], int] = {}
    while sum(counts.values()) < 7:
        (event,) = await ear.events(1)
        assert event.name == "pulse" and event.data["at"].endswith("Z")
        for edge in event.data["edges"]:
            key = (edge["verb"], edge["from"], edge["to"])
            counts[key] = counts.get(key, 0) + edge["count"]
    assert counts == {("cancel", "pending", "cancelled"): 7}
    ear.close()


async def test_a_summary_says_when_it_begins_which_is_later_than_its_connection(
    app: Kairos, served: Served
) -> None:
    """A page reads what it shows once more at that moment: what happened while it loaded is not sent."""
    (first,) = await app.run(operations.enqueue_many([call()]))
    hub = await _hub(served)
    held = await asyncpg.connect(app.store.url)
    try:
        transaction = held.transaction()
        await transaction.start()
        await app.on(held).cancel(first.id)  # until this is decided, nothing can be sent
        ear = await listen(served.port, "/api/events?summary=true")
        turns = hub.turns
        await until(lambda: hub.turns > turns + 20)
        await app.run(operations.enqueue(call(queue="missed")))
        await transaction.commit()
    finally:
        await held.close()
    (event,) = await ear.events(1, counts=True)
    assert (event.name, event.data) == ("begin", {})
    await app.run(operations.enqueue(call(queue="sent")))
    (event,) = await ear.events(1, counts=True)
    assert (event.name, event.data["accepted"]) == ("counts", {"sent": 1})
    later = await listen(served.port, "/api/events?summary=true")
    (event,) = await later.events(1, counts=True)
    assert (event.name, event.data) == ("begin", {})
    ear.close()
    later.close()


@pytest.mark.parametrize("path", ["/api/events", "/api/events?summary=true"])
async def test_accepting_and_picking_are_counted_by_queue(app: Kairos, served: Served, path: str) -> None:
    await app.run(operations.enqueue(call(queue="before")))
    ear = await started(served, path)
    await app.run(operations.enqueue_many([call(queue="mail") for _ in range(3)]))
    finished = await voice(app, queue="fast")
    await finished.end()
    running = await voice(app, queue="slow")
    accepted: Counter[str] = Counter()
    picked: Counter[str] = Counter()
    while accepted.total() < 5 or picked.total() < 2:
        (event,) = await ear.events(1, counts=True)
        if event.name == "counts":
            accepted.update(event.data["accepted"])
            picked.update(event.data["picked"])
    assert accepted == {"mail": 3, "fast": 1, "slow": 1}
    assert picked == {"fast": 1, "slow": 1}
    await running.end()
    ear.close()


async def test_a_job_that_is_committed_after_younger_ones_is_counted(app: Kairos, served: Served) -> None:
    ear = await started(served)
    held = await asyncpg.connect(app.store.url)
    try:
        transaction = held.transaction()
        await transaction.start()
        await app.on(held).run(operations.enqueue(call(queue="late")))
        await app.run(operations.enqueue(call(queue="early")))
        (event,) = await ear.events(1, counts=True)
        assert event.data == {"accepted": {"early": 1}, "picked": {}}
        await transaction.commit()
        (event,) = await ear.events(1, counts=True)
        assert event.data == {"accepted": {"late": 1}, "picked": {}}
    finally:
        await held.close()
    ear.close()


@pytest.mark.parametrize("path", ["/api/events", "/api/events?summary=true"])
async def test_an_alarm_is_told_when_it_is_raised_and_when_it_changes(
    app: Kairos, served: Served, path: str
) -> None:
    ear = await started(served, path)
    async with app.store.connection() as connection:
        await connection.execute(
            "insert into kairos.alarms (kind, subject, severity, cause, remedy, count, first_at, last_at)"
            " values ('jobs_failed', 'act', 'error', 'two failed', 'look', 2, now(), now())"
        )
        (event,) = await ear.events(1)
        assert (event.name, event.id, event.data["subject"]) == ("alarm", None, "act")
        await connection.execute("update kairos.alarms set cleared_at = now()")
    (event,) = await ear.events(1)
    assert event.data["clearedAt"] is not None
    ear.close()


_WORKER = """insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)
values ('w', 'h', 1, '{}', '{}', 1, now(), now())"""


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("workers", [_WORKER, "update kairos.workers set seen_at = now() - interval '5 minutes'"]),
        ("queues", ["insert into kairos.queues (name) values ('q')", "delete from kairos.queues"]),
        (
            "jobs",
            [
                "insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)"
                " values ('act', 'run', now() + interval '0.5 s', now(), now())"
            ],
        ),
    ],
)
async def test_a_list_that_changes_without_a_change_of_a_job_is_named(
    app: Kairos, served: Served, name: str, changes: list[str]
) -> None:
    ear = await started(served, "/api/events?summary=true")
    async with app.store.connection() as connection:
        for change in changes:
            await connection.execute(change)
            while True:
                (event,) = await ear.events(1, counts=True)
                if event.name == "lists":
                    break
            assert set(event.data["changed"]) - {"heartbeats"} == {name}
    ear.close()


async def test_nobody_listening_costs_nothing(app: Kairos, served: Served) -> None:
    ear = await started(served)
    hub = await _hub(served)
    assert hub.is_polling
    ear.close()
    await until(lambda: not hub.is_polling)
    turns = hub.turns
    await cancelled_jobs(app, 1)
    assert (hub.turns, hub.slots.active) == (turns, 0)


async def test_a_reader_begins_when_it_comes_though_others_have_read_before_and_somebody_writes(
    app: Kairos, served: Served
) -> None:
    hub = await _hub(served)
    first = await started(served)
    await cancelled_jobs(app, 1)
    await first.events(1)
    first.close()
    await until(lambda: not hub.is_polling)
    await cancelled_jobs(app, 3)  # nobody reads these
    late = await app.run(operations.enqueue(call()))
    held = await asyncpg.connect(app.store.url)
    try:
        await held.execute("begin")
        await app.on(held).cancel(late.id)
        ear = await listen(served.port, "/api/events")
        turns = hub.turns
        await until(lambda: hub.turns > turns + 3)
        during = await cancelled_jobs(app, 1)
        await held.execute("commit")
    finally:
        await held.close()
    after = await cancelled_jobs(app, 1)
    assert [event.data["job"] for event in await ear.events(2)] == during + after
    ear.close()


def test_a_transaction_that_stays_open_does_not_make_the_marks_grow() -> None:
    from kairos.api.feed_watermark import FeedWatermark

    marks = FeedWatermark()
    for number in range(1, 1001):
        marks.add(number, frozenset({"long", f"short{number}", f"short{number - 1}"}))
        assert marks.waiting <= 3
    assert (marks.known, marks.decided) == (False, 0)
    marks.add(1001, frozenset({"short1000"}))
    assert (marks.known, marks.decided) == (True, 999)  # who wrote at 1000 writes still
    marks.add(1001, frozenset())
    assert marks.decided == 1001


async def test_a_stream_ends_when_its_key_is_revoked_or_its_session_is_over(
    app: Kairos, served: Served
) -> None:
    from kairos.operations.keys import add_key, revoke_key

    hub = await _hub(served)
    hub.timeouts.heartbeat = 0.05
    key, token = await app.run(add_key("Ada", ["read"]))
    _, other = await app.run(add_key("Bob", ["read"]))
    job = await app.run(operations.enqueue(call()))
    served.service.access.clear_cache()
    paths = ("/api/events", "/api/events?summary=true", f"/api/jobs/{job.id}/events")
    ears = [await listen(served.port, path, Authorization=f"Bearer {token}") for path in paths]
    stays = await listen(served.port, "/api/events", Authorization=f"Bearer {other}")
    signed_in = await served.http.post("/api/session", json={"key": other})
    cookie = f"kairos_session={served.http.cookies['kairos_session']}"
    page = await listen(served.port, "/api/events", Cookie=cookie)
    await app.run(revoke_key(key.id))  # elsewhere: here it is remembered for a while
    for ear in ears:
        assert {event.name for event in await ear.rest()} <= {"status", "lists", "begin"}
        ear.close()
    csrf = {"X-CSRF-Token": signed_in.json()["session"]["csrf"], "Origin": served.url}
    assert (await served.http.delete("/api/session", headers=csrf)).status_code == 200
    assert await page.rest() == []
    (gone,) = await cancelled_jobs(app, 1)
    (event,) = await stays.events(1)
    assert event.data["job"] == gone
    stays.close()
    page.close()
