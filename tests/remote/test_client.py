"""The client says what the app itself would say, in both worlds."""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.api.service_process import Served, serving
from tests.remote.conftest import Told, told

from kairos import InvalidTransition, Kairos, KairosClient, KairosError
from kairos.client import OperationMethods
from kairos.errors import (
    BadArguments,
    BadRequest,
    Conflict,
    Duplicate,
    JobFailed,
    NotFinished,
    NotFound,
    Unauthorized,
    UnknownAction,
)
from kairos.operations.keys import add_key
from kairos.schedule import IntentError

pytestmark = pytest.mark.usefixtures("served")


async def test_a_job_is_enqueued_run_and_answered(kairos: Told, worker: None) -> None:
    job = await kairos.ask(lambda kairos: kairos.enqueue("double", number=21))
    assert (job.action, job.input, job.is_new) == ("double", {"number": 21}, True)
    assert await kairos.ask(lambda kairos: kairos.result(job.id, timeout=60)) == 42
    assert (await kairos.ask(lambda kairos: kairos.wait(job.id))).state == "success"


async def test_a_job_is_the_same_value_as_the_app_answers_with(
    kairos: Told, app: Kairos, worker: None
) -> None:
    job = await kairos.ask(lambda kairos: kairos.options(tags=["t"], key="k").enqueue("double", number=1))
    await app.result(job.id, timeout=60)
    over_http = await kairos.ask(lambda kairos: kairos.get(job.id))
    at_home = await app.get(job.id)
    for name in (
        "id",
        "state",
        "step",
        "tags",
        "key",
        "output",
        "started_at",
        "completed_at",
        "inserted_at",
        "can",
    ):
        assert getattr(over_http, name) == getattr(at_home, name), name
    assert [row.verb for row in await kairos.ask(lambda kairos: kairos.history(job.id))] == ["done"]
    assert await kairos.ask(lambda kairos: kairos.history(job.id)) == await app.history(job.id)


async def test_options_travel_with_the_call(kairos: Told) -> None:
    later = datetime(2030, 1, 1, tzinfo=UTC)
    options = {
        "run_at": later,
        "priority": -1,
        "ttl": timedelta(minutes=10),
        "unique": "once",
        "queue": "slow",
    }
    job = await kairos.ask(lambda kairos: kairos.options(**options).enqueue("double", number=1))
    assert (job.run_at, job.priority, job.unique, job.queue) == (later, -1, "once", "slow")
    assert job.expires_at == later + timedelta(minutes=10)
    again = await kairos.ask(lambda kairos: kairos.options(retry_of=job.id).enqueue("double", number=2))
    assert again.retry_of == job.id
    asked_at = datetime.now(UTC)
    delayed = await kairos.ask(lambda kairos: kairos.options(delay="90s").enqueue("double", number=1))
    # Words know whole seconds, so a delay is rounded up to one. It counts from before the job is inserted.
    assert asked_at + timedelta(seconds=90) <= delayed.run_at < delayed.inserted_at + timedelta(seconds=92)


async def test_many_are_accepted_at_once_and_those_that_were_there_are_told(kairos: Told) -> None:
    def ask(kairos: KairosClient) -> Any:
        calls = [kairos.options(unique=f"u{n}").call("double", number=n) for n in (1, 2, 1)]
        return kairos.enqueue_many(calls)

    jobs = await kairos.ask(ask)
    assert [job.is_new for job in jobs] == [True, True, False]
    assert jobs[0].id == jobs[2].id
    assert await kairos.ask(lambda kairos: kairos.enqueue_many([])) == []


async def test_lists_are_followed_page_by_page(kairos: Told) -> None:
    await kairos.ask(lambda kairos: kairos.enqueue_many([kairos.call("double", number=n) for n in range(7)]))
    jobs = await kairos.all(lambda kairos: kairos.jobs(action="double", state=["pending"], limit=2))
    assert [job.input["number"] for job in jobs] == [6, 5, 4, 3, 2, 1, 0]
    assert await kairos.all(lambda kairos: kairos.jobs(queue="none")) == []


async def test_a_job_is_moved_by_its_verbs(kairos: Told) -> None:
    job = await kairos.ask(lambda kairos: kairos.options(delay="1h").enqueue("double", number=1))
    later = datetime(2090, 1, 1, tzinfo=UTC)
    edited = await kairos.ask(lambda kairos: kairos.edit(job.id, priority=-3, run_at=later, expires_at=None))
    assert (edited.priority, edited.run_at, edited.expires_at) == (-3, later, None)
    assert (await kairos.ask(lambda kairos: kairos.run_now(job.id))).state == "pending"
    gone = await kairos.ask(lambda kairos: kairos.cancel(job.id, reason="not wanted"))
    assert (gone.state, gone.cancel_reason) == ("cancelled", "not wanted")
    again = await kairos.ask(lambda kairos: kairos.retry(job.id))
    assert (again.retry_of, again.state) == (job.id, "pending")
    assert (await kairos.ask(lambda _: again.transition("cancelled"))).state == "cancelled"
    assert await kairos.ask(lambda kairos: kairos.delete(job.id)) is None
    with pytest.raises(NotFound):
        await kairos.ask(lambda kairos: kairos.get(job.id))


async def test_a_signal_wakes_a_job(kairos: Told, worker: None, app: Kairos) -> None:
    job = await kairos.ask(lambda kairos: kairos.enqueue("order"))
    told = await kairos.ask(lambda kairos: kairos.signal(job.id, "paid", {"sum": 3}, dedup_key="a"))
    assert told in ("woke", "delivered")
    assert await kairos.ask(lambda kairos: kairos.result(job.id, timeout=60)) == {"sum": 3}
    (signal,) = await kairos.ask(lambda kairos: kairos.signals(job.id))
    assert (signal.name, signal.payload, signal.consumed_at is not None) == ("paid", {"sum": 3}, True)


async def test_queues_workers_alarms_and_stats_are_told(kairos: Told, worker: None) -> None:
    assert (await kairos.ask(lambda kairos: kairos.pause("a b"))).paused_at is not None
    await kairos.ask(lambda kairos: kairos.options(queue="a b").enqueue("double", number=1))
    (queue,) = [each for each in await kairos.ask(lambda kairos: kairos.queues()) if each.name == "a b"]
    assert (queue.pending, queue.paused_at is not None) == (1, True)
    assert (await kairos.ask(lambda kairos: kairos.resume("a b"))).paused_at is None
    assert len(await kairos.ask(lambda kairos: kairos.workers())) == 1
    assert isinstance(await kairos.all(lambda kairos: kairos.alarms(all=True)), list)
    assert (await kairos.ask(lambda kairos: kairos.stats()))["states"]["pending"] == 1


async def test_schedules_are_made_paused_and_removed(kairos: Told) -> None:
    made = await kairos.ask(
        lambda kairos: kairos.schedules.add("nightly", "every day at 3am", kairos.call("double", number=1))
    )
    assert (made.name, made.sentence, made.action) == ("nightly", "every day at 03:00 (UTC)", "double")
    assert [each.name for each in await kairos.all(lambda kairos: kairos.schedules.list())] == ["nightly"]
    assert (
        await kairos.ask(lambda kairos: kairos.schedules.pause("nightly", "holidays"))
    ).pause_reason == "holidays"
    assert (await kairos.ask(lambda kairos: kairos.schedules.resume("nightly"))).paused_at is None
    job = await kairos.ask(lambda kairos: kairos.schedules.trigger("nightly"))
    assert (await kairos.ask(lambda kairos: kairos.get(job))).schedule == "nightly"
    assert (await kairos.ask(lambda kairos: kairos.schedules.get("nightly"))).next_ticks
    assert await kairos.all(lambda kairos: kairos.schedules.ticks("nightly")) == []
    await kairos.ask(lambda kairos: kairos.schedules.remove("nightly"))
    with pytest.raises(NotFound):
        await kairos.ask(lambda kairos: kairos.schedules.get("nightly"))


async def test_errors_are_the_classes_they_were(kairos: Told, worker: None) -> None:
    async def refused(kind: type[KairosError], question: Any) -> Any:
        with pytest.raises(kind) as caught:
            await kairos.ask(question)
        assert type(caught.value) is kind
        return caught.value

    await refused(NotFound, lambda kairos: kairos.get(10**9))
    await refused(UnknownAction, lambda kairos: kairos.enqueue("nothing"))
    wrong = await refused(BadArguments, lambda kairos: kairos.enqueue("double", number="many"))
    assert wrong.field == "input.number"
    assert (
        await refused(BadRequest, lambda kairos: kairos.options(colour=1).enqueue("double"))
    ).field == "colour"
    held = await kairos.ask(lambda kairos: kairos.options(unique="u", delay="1h").enqueue("double", number=1))
    taken = await refused(Duplicate, lambda kairos: kairos.options(unique="u").enqueue("double", number=1))
    assert (taken.job.id, taken.job.action, taken.job.state) == (held.id, "double", "scheduled")
    await kairos.ask(lambda kairos: kairos.cancel(held.id))
    late = await refused(InvalidTransition, lambda kairos: kairos.cancel(held.id))
    assert (late.current, late.target, late.allowed) == ("cancelled", "cancelled", ("retry", "delete"))
    await refused(Conflict, lambda kairos: kairos.signal(held.id, "paid"))
    vague = await refused(
        IntentError, lambda kairos: kairos.options(when="next friday").enqueue("double", number=1)
    )
    assert (vague.text, vague.suggestions != ()) == ("next friday", True)
    failing = await kairos.ask(lambda kairos: kairos.enqueue("fails", why="the reason"))
    failed = await refused(JobFailed, lambda kairos: kairos.result(failing.id, timeout=60))
    assert (failed.job.error_code, "the reason" in failed.message) == ("ValueError", True)
    waiting = await kairos.ask(lambda kairos: kairos.enqueue("order"))
    await refused(NotFinished, lambda kairos: kairos.result(waiting.id, timeout=0.01))


async def test_a_key_is_sent_and_a_wrong_one_refused(app: Kairos, blocks: bool) -> None:
    _, token = await app.run(add_key("a test", ["enqueue"]))
    async with serving(app, open=False) as served:
        async with told(blocks, served.url, token) as kairos:
            job = await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
            assert job.created_by.startswith("key:")
        for wrong in (None, token[:-1] + ("0" if token[-1] != "0" else "1")):
            async with told(blocks, served.url, wrong) as kairos:
                with pytest.raises(Unauthorized):
                    await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))


def test_the_client_has_the_verbs_of_the_app_with_words_of_their_own() -> None:
    """All but those that declare code, and what the service does not offer."""
    ours = {name for name, _ in inspect.getmembers(KairosClient, callable) if not name.startswith("_")}
    theirs = {name for name, _ in inspect.getmembers(OperationMethods, callable) if not name.startswith("_")}
    declare = {"action", "job", "machine", "schedule", "around_step", "on_worker_start", "on_worker_stop"}
    assert theirs - ours <= {*declare, "limit", "run", "retrying", "transact", "result_of"}
    for name in ours:
        assert inspect.getdoc(getattr(KairosClient, name)), name


def test_a_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(KairosError, match="http://"):
        KairosClient("localhost:8765")


async def test_without_with_it_blocks_and_opens_itself(served: Served) -> None:
    def ask() -> int:
        kairos = KairosClient(served.url)
        try:
            return int(kairos.enqueue("double", number=1).id)
        finally:
            kairos.close()

    assert await asyncio.to_thread(ask) > 0
