"""The stream of one job: every line once and in order, from wherever a reader was, and its end as the last word."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from tests.api.event_reader import Ear, Event, listen, voice
from tests.api.service_process import Served
from tests.engine_statements import park, stop
from tests.shared_database import unguarded

from kairos import Await, Context, Done, Kairos, step
from kairos.api.schemas.logs import LogsAnswer
from kairos.store.query import Query


def said(events: list[Event]) -> list[str]:
    return [event.data["line"] for event in events if event.name == "log"]


def states(events: list[Event]) -> list[str]:
    return [event.data["state"] for event in events if event.name == "status"]


async def test_a_line_that_is_stamped_before_the_one_ahead_of_it_does_not_overtake_it(
    app: Kairos, served: Served
) -> None:
    """A stamp is the database's time less the age of the line, so two batches may cross by a moment."""
    job = await voice(app)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    assert await ear.event() == Event("status", None, {"state": "running"})
    async with app.store.connection() as connection:
        await connection.execute(
            "insert into kairos.logs (job_id, cursor, lease, said, at, level, line, step, attempt) values"
            " ($1, 1, 1, 1, now() + interval '1 s', 'info', 'one', 'run', 0),"
            " ($1, 2, 1, 2, now() - interval '1 s', 'info', 'two', 'run', 0)",
            job.job,
        )
    assert said(await ear.events(2)) == ["one", "two"]
    ear.close()


async def test_a_reader_hears_the_state_each_line_and_the_end(app: Kairos, served: Served) -> None:
    job = await voice(app, begin=False)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    assert await ear.event() == Event("status", None, {"state": "pending"})
    await job.begin()
    assert await ear.event() == Event("status", None, {"state": "running"})
    await job.say("one", "two", fields='{"user": 7}', stream="stdout")
    first, second = await ear.events(2)
    assert (first.name, first.id, second.id) == ("log", "1", "2")
    assert first.data["at"].endswith("Z")
    assert {name: value for name, value in first.data.items() if name != "at"} == {
        "cursor": 1,
        "level": "info",
        "line": "one",
        "fields": {"user": 7},
        "step": "run",
        "attempt": 0,
        "stream": "stdout",
    }
    await job.end('{"sent": 7}')
    last = {"state": "success", "output": {"sent": 7}, "error": None}
    assert await ear.rest() == [Event("status", None, last)]
    assert ear.headers["content-type"].startswith("text/event-stream")
    assert (ear.headers["cache-control"], ear.headers["x-request-id"][:4]) == ("no-store", "req_")


async def test_a_late_reader_of_a_finished_job_gets_its_lines_and_then_its_end(
    app: Kairos, served: Served
) -> None:
    job = await voice(app, ["a", "b"])
    await job.hand.commit(stop(job.claim, "the pipe burst"))
    for _ in range(2):
        events = await (await listen(served.port, f"/api/jobs/{job.job}/events")).rest()
        assert [event.name for event in events] == ["log", "log", "status"]
        assert events[-1].data == {
            "state": "failed",
            "output": None,
            "error": {"code": "STOPPED", "message": "the pipe burst", "fingerprint": None},
        }


@pytest.mark.parametrize("how", ["cursor", "header"])
async def test_resuming_at_every_cursor_gives_the_same_whole(app: Kairos, served: Served, how: str) -> None:
    """Those who come while it runs, and those who come after; a cursor beyond the last line goes on after that line."""
    lines = [f"line {number}" for number in range(1, 13)]
    job = await voice(app, lines[:6])
    path = f"/api/jobs/{job.job}/events"

    async def resume(cursor: int) -> Ear:
        if how == "header":  # it is younger than what the address says
            return await listen(served.port, f"{path}?cursor=3", Last_Event_ID=str(cursor))
        return await listen(served.port, f"{path}?cursor={cursor}")

    ears = [await resume(cursor) for cursor in range(13)]
    for line in lines[6:]:
        await job.say(line)
    await job.end()
    whole = [await ear.rest() for ear in ears]
    late = [await (await resume(cursor)).rest() for cursor in range(13)]
    assert [said(events) for events in whole] == [lines[min(cursor, 6) :] for cursor in range(13)]
    assert [said(events) for events in late] == [lines[cursor:] for cursor in range(13)]
    assert all(events[-1].data["state"] == "success" for events in whole + late)


async def test_a_backlog_of_many_pages_is_sent_whole_while_more_is_said(app: Kairos, served: Served) -> None:
    job = await voice(app, [str(number) for number in range(1700)])
    ears = [
        await listen(served.port, f"/api/jobs/{job.job}/events?cursor={at}")
        for at in (0, 499, 500, 501, 1699)
    ]
    for number in range(1700, 1800):
        await job.say(str(number))
    await job.end()
    for ear, at in zip(ears, (0, 499, 500, 501, 1699), strict=True):
        assert said(await ear.rest()) == [str(number) for number in range(at, 1800)]


async def test_a_burst_larger_than_what_is_kept_in_memory_arrives_whole(app: Kairos, served: Served) -> None:
    job = await voice(app)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    await ear.event()
    for part in range(4):
        await job.say(*(f"{part * 2000 + number}" for number in range(2000)))
    await job.end()
    assert said(await ear.rest()) == [str(number) for number in range(8000)]


async def test_every_state_is_told_also_those_that_last_no_time(app: Kairos, served: Served) -> None:
    job = await voice(app, begin=False)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    await ear.event()
    for _ in range(3):
        await job.begin()
        await job.hand.commit(park(job.claim, "go"))
        await app.signal(job.job, "go", {})
    await job.begin()
    await job.end()
    heard = states(await ear.rest())
    assert heard == [*["running", "waiting", "pending"] * 3, "running", "success"]


async def test_what_changes_of_a_job_beside_its_state_is_told(app: Kairos, served: Served) -> None:
    @app.machine("waits")
    class Waits:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("go")

    job = await app.action("waits").options(delay="1h").enqueue()
    ear = await listen(served.port, f"/api/jobs/{job.id}/events")
    assert [(each.name, each.data) for each in await ear.events(1)] == [("status", {"state": "scheduled"})]
    await app.edit(job.id, priority=7)
    assert [each.name for each in await ear.events(1)] == ["changed"]
    await app.signal(job.id, "other")
    assert [each.name for each in await ear.events(1)] == ["changed"]
    ear.close()


async def test_lines_and_states_come_in_the_order_they_happened(app: Kairos, served: Served) -> None:
    @app.machine("wait")
    class Wait:
        @step
        async def wait(self, ctx: Context) -> Any:
            ctx.log.info("here")
            return Done() if ctx.take("go") else Await("go")

    job = await app.action("wait").enqueue()
    ear = await listen(served.port, f"/api/jobs/{job.id}/events")
    heard: list[Event] = list(await ear.events(1))  # it listens before anything happens
    async with app.worker(poll=0.1):
        while heard[-1].data.get("state") != "waiting":
            heard += await ear.events(1)
        await app.signal(job.id, "go")
        heard += await ear.rest()
    shown = [event.data.get("line") or event.data["state"] for event in heard]
    assert shown[-6:] == ["here", "waiting", "pending", "running", "here", "success"]


async def test_nothing_in_a_line_can_begin_another_event(app: Kairos, served: Served) -> None:
    evil = [
        "x\n\nevent: admin\ndata: 1",
        "a\rb\r\n\r\nid: 99",
        "u\u2028v\u2029w\x85x",
        ": comment\n\n",
        "\ufeffdata: 2",
    ]
    job = await voice(app, evil)
    await job.end()
    ear = await Ear.open(served.port, f"/api/jobs/{job.job}/events")
    await ear.begin()
    events = await ear.rest()
    assert said(events) == evil
    assert [event.id for event in events] == ["1", "2", "3", "4", "5", None]
    raw = (await served.http.get(f"/api/jobs/{job.job}/events")).text
    assert len(raw.splitlines()) == len(raw.split("\n")) - 1


@pytest.mark.parametrize(
    "given",
    ["-1", "+1", "1.0", " 1", "01", "0x1", "١", "", "1,2", "9" * 19, "9" * 40, "1e3", "null", "1\u00a0"],
    ids=lambda given: repr(given[:20]).encode("ascii", "backslashreplace").decode(),
)
async def test_a_cursor_that_no_event_carried_is_refused(app: Kairos, served: Served, given: str) -> None:
    job = await voice(app, begin=False)
    for path in (f"/api/jobs/{job.job}/events", "/api/events"):
        answer = await served.http.get(path, params={"cursor": given})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BAD_CURSOR")
        if given != given.strip():
            continue  # white space around it is not part of a header
        ear = await (await Ear.open(served.port, path, Last_Event_ID=given)).begin()
        assert ear.status == 422
        ear.close()
    twice = await served.http.get(f"/api/jobs/{job.job}/events?cursor=1&cursor=2")
    assert twice.status_code == 422


async def test_a_job_that_is_not_there_is_not_found(http: httpx2.AsyncClient) -> None:
    for path in ("events", "logs"):
        answer = await http.get(f"/api/jobs/999999/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_a_job_that_is_deleted_ends_its_stream(app: Kairos, served: Served) -> None:
    job = await voice(app, begin=False)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    await ear.event()
    async with app.store.connection() as connection:
        await connection.execute(unguarded(f"delete from kairos.gen_durable where id = {job.job}"))
    assert await ear.rest() == []


async def test_head_answers_without_a_stream(http: httpx2.AsyncClient, app: Kairos, served: Served) -> None:
    job = await voice(app)
    answer = await http.head(f"/api/jobs/{job.job}/events")
    assert (answer.status_code, answer.headers["content-type"][:17]) == (200, "text/event-stream")


# Pages of lines


async def test_lines_are_paged(app: Kairos, http: httpx2.AsyncClient) -> None:
    for total in (0, 1, 5, 6, 11):
        job = await voice(app, [str(number + 1) for number in range(total)])
        seen: list[str] = []
        cursor, pages = 0, 0
        while True:
            page = (await http.get(f"/api/jobs/{job.job}/logs?cursor={cursor}&limit=5")).json()
            seen += [line["line"] for line in page["logs"]]
            pages += 1
            if page["nextCursor"] is None:
                break
            cursor = page["nextCursor"]
        assert (seen, pages) == ([str(number + 1) for number in range(total)], max(1, -(-total // 5)))
        await job.end()


async def test_a_page_is_as_documented(app: Kairos, http: httpx2.AsyncClient) -> None:
    job = await voice(app, ["hello"], begin=True)
    page = (await http.get(f"/api/jobs/{job.job}/logs")).json()
    LogsAnswer.model_validate(page)
    assert page["logs"][0]["cursor"] == 1
    for wrong in ("limit=0", "limit=1001", "cursor=-1", "cursor=x"):
        assert (await http.get(f"/api/jobs/{job.job}/logs?{wrong}")).status_code == 422


async def test_progress_is_told_as_it_is_reported(app: Kairos, served: Served) -> None:
    job = await voice(app)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    assert (await ear.events(1))[0].data == {"state": "running"}

    async def report(done: int) -> None:
        told = json.dumps({"done": done, "total": 9})
        await app.store.run(Query("report_progress", ([job.job], [job.claim.lease], [told], job.hand.name)))

    for done in (3, 5):
        await report(done)
        (event,) = await ear.events(1)
        assert (event.name, event.data) == ("progress", {"done": done, "total": 9})
    later = await listen(served.port, f"/api/jobs/{job.job}/events")
    status, progress = await later.events(2)
    assert (status.data, progress.data) == ({"state": "running"}, {"done": 5, "total": 9})
    await job.end()
    assert [event.name for event in await ear.rest()] == ["status"]
