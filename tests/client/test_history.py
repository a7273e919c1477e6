"""History: one row for every committed change, and every row an edge of the lifecycle."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.boundaries.frozen_time import SECOND, Moment
from tests.client.actions import in_state
from tests.engine_statements import LEASE, Hand, hand_back

from kairos import Await, Backoff, Context, Done, Kairos, Next, Replay, Stop, step
from kairos.fsm.lifecycle import SPEC
from kairos.testing import Clock, drain

EDGES = {(edge.verb, edge.source, edge.target) for edge in SPEC.edges}


@pytest.fixture
async def moment(app: Kairos) -> Moment:
    clock = await Clock(app).install()
    return Moment(app, clock, await clock.freeze())


async def rows(app: Kairos, job: int) -> list[tuple[Any, ...]]:
    """Verb, states, step, attempt and reason of each row; each checked to be an edge of the table."""
    found = await app.history(job)
    for row in found:
        assert (row.verb, row.from_state, row.to_state) in EDGES, row
        assert row.started_at is None or row.started_at <= row.at
    assert [row.id for row in found] == sorted(row.id for row in found)
    return [(row.verb, row.from_state, row.to_state, row.step, row.attempt, row.reason) for row in found]


async def test_the_outcomes_of_a_machine_are_told_one_by_one(app: Kairos) -> None:
    @app.machine("order", retry=Backoff(attempts=2, base=0))
    class Order:
        @step(initial=True)
        async def charge(self, ctx: Context) -> Any:
            if ctx.attempt == 0:
                return Replay(delay=0)
            return Next("ship")

        @step
        async def ship(self, ctx: Context) -> Any:
            if ctx.attempt == 0:
                raise ValueError("no stamps")
            return Done() if ctx.take("delivered") else Await("delivered")

    job = await Order.enqueue()
    await drain(app)
    await app.signal(job.id, "delivered")
    await drain(app)
    assert await rows(app, job.id) == [
        ("replay", "running", "scheduled", "charge", 0, None),
        ("next", "running", "pending", "charge", 1, None),
        ("fail", "running", "failed", "ship", 0, "ValueError: no stamps"),
        ("retry", "failed", "scheduled", "ship", 0, None),
        ("await", "running", "waiting", "ship", 1, None),
        ("wake", "waiting", "pending", "ship", 1, "signal delivered"),
        ("done", "running", "success", "ship", 1, None),
    ]


async def test_a_retry_after_a_while_passes_through_failed_to_scheduled(app: Kairos) -> None:
    @app.job(retry=Backoff(attempts=2, base=60))
    async def act() -> None:
        raise ValueError("no")

    job = await act.enqueue()
    await drain(app)
    assert await rows(app, job.id) == [
        ("fail", "running", "failed", "run", 0, "ValueError: no"),
        ("retry", "failed", "scheduled", "run", 0, None),
    ]


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        (Stop("sold out"), ("stop", "running", "failed", "run", 0, "sold out")),
        (Replay(delay=60), ("replay", "running", "scheduled", "run", 0, None)),
        (7, ("done", "running", "success", "run", 0, None)),
    ],
)
async def test_an_outcome_is_one_row(app: Kairos, answer: Any, row: tuple[Any, ...]) -> None:
    @app.job
    async def act() -> Any:
        return answer

    job = await act.enqueue()
    await drain(app)
    assert await rows(app, job.id) == [row]


async def test_an_error_answered_with_another_outcome_is_not_forgotten(app: Kairos) -> None:
    answers = {"next": Next("last"), "await": Await("go"), "done": Done(5), "stop": Stop("gave up")}

    @app.machine("order")
    class Order:
        @step(initial=True)
        async def first(self, ctx: Context) -> Any:
            raise ValueError("no")

        @step
        async def last(self, ctx: Context) -> Any:
            return Done()

        def handle(self, error: Exception, ctx: Context) -> Any:
            return answers[ctx.state["answer"]]

    for answer in answers:
        job = await Order.enqueue(answer=answer)
        await drain(app)
        verb, *_, reason = (await rows(app, job.id))[0]
        assert verb == answer
        assert "ValueError: no" in (reason or ""), answer


async def test_what_a_client_does_names_no_worker_and_what_a_worker_does_names_it(app: Kairos) -> None:
    job = await app.action("echo").options(delay=60).enqueue()
    await app.run_now(job.id)
    await drain(app)
    asked, ran = await app.history(job.id)
    assert (asked.verb, asked.worker, asked.started_at) == ("run_now", None, None)
    assert (ran.verb, ran.worker, ran.started_at is not None) == ("done", "drain", True)


@pytest.mark.parametrize("state", ["scheduled", "pending", "waiting"])
async def test_a_cancel_tells_from_where_and_why(app: Kairos, state: str) -> None:
    job = await in_state(app, state)
    await app.cancel(job.id, reason="customer called")
    assert (await rows(app, job.id))[-1] == ("cancel", state, "cancelled", job.step, 0, "customer called")


async def test_a_running_job_that_was_cancelled_yields_and_tells_why(app: Kairos) -> None:
    job = await app.action("echo").enqueue()
    hand = Hand(app.store, "w")
    (claim,) = await hand.pick()
    await app.cancel(job.id, reason="customer called")
    assert await rows(app, job.id) == []
    await hand.commit(hand_back(claim))
    (row,) = await rows(app, job.id)
    assert row[:3] == ("yield", "running", "cancelled")
    assert "customer called" in row[-1]


@pytest.mark.parametrize("state", ["scheduled", "pending"])
async def test_an_expiry_tells_from_where_and_when(moment: Moment, state: str) -> None:
    delay = 60 if state == "scheduled" else 0
    job = await moment.enqueue(delay=delay, expires_at=moment.start)
    await moment.sweep()
    (row,) = await rows(moment.app, job)
    assert row[:3] == ("expire", state, "expired")
    assert "its TTL closed" in row[-1]


async def test_what_the_reaper_and_the_sweeper_do_is_told(moment: Moment) -> None:
    hand = moment.worker("lost one")
    reaped, released = await moment.enqueue(), await moment.enqueue()
    claims = {claim.id: claim for claim in await hand.pick()}
    await hand.commit(hand_back(claims[released]))
    await moment.at(moment.start + LEASE)
    await moment.sweep()
    assert await rows(moment.app, released) == [("release", "running", "pending", "run", 0, "not now")]
    assert await rows(moment.app, reaped) == [("reap", "running", "pending", "run", 0, "its worker was lost")]
    (row,) = await moment.app.history(reaped)
    assert (row.worker, row.actor) == ("lost one", "reaper of sweeper")
    assert (row.started_at, row.at) == (moment.start, moment.start + LEASE)


async def test_an_await_that_timed_out_names_what_did_not_come(moment: Moment) -> None:
    @moment.app.machine("order")
    class Order:
        @step(initial=True)
        async def wait(self, ctx: Context) -> Any:
            return Await("paid", "refused", timeout=10, then="end")

        @step
        async def end(self, ctx: Context) -> Any:
            return Done()

    job = await Order.enqueue()
    await drain(moment.app)
    await moment.at(moment.start + 10 * SECOND)
    await drain(moment.app)
    found = await rows(moment.app, job.id)
    assert [row[:4] for row in found] == [
        ("await", "running", "waiting", "wait"),
        ("timeout", "waiting", "pending", "wait"),
        ("done", "running", "success", "end"),
    ]
    assert found[1][-1] == "no signal paid or refused came in time"


async def test_a_job_nothing_happened_to_has_no_history(app: Kairos) -> None:
    job = await app.action("echo").enqueue()
    assert await app.history(job.id) == []
    assert await app.history(77777) == []


async def test_each_step_of_a_run_ahead_tells_when_it_began(app: Kairos, moment: Moment) -> None:
    @app.machine("walk")
    class Walk:
        @step(initial=True)
        async def first(self, ctx: Context) -> Any:
            await moment.at(moment.start + timedelta(seconds=1))
            return Next("second")

        @step
        async def second(self, ctx: Context) -> Any:
            await moment.at(moment.start + timedelta(seconds=3))
            return Done()

    job = await Walk.enqueue()
    await drain(app)
    took = [(row.at - row.started_at).total_seconds() for row in await app.history(job.id)]
    assert took == [1, 2]


async def test_a_job_that_no_worker_knows_says_so_once(app: Kairos, moment: Moment) -> None:
    app.job(name="unknown")(lambda: None)
    job = await app.action("unknown").enqueue()
    async with Kairos(app.database_url) as other:
        for _ in range(3):
            await drain(other)
            await moment.clock.move("10s")
    assert [row[0] for row in await rows(app, job.id)] == ["release"]


async def test_a_retry_by_hand_waits_as_long_as_the_first_was_given(app: Kairos) -> None:
    @app.job(ttl="1h")
    async def act() -> None: ...

    first = await act.options(ttl="10m", delay="1d").enqueue()
    await app.cancel(first.id)
    again = await app.retry(first.id)
    assert again.expires_at - again.run_at == timedelta(minutes=10)
