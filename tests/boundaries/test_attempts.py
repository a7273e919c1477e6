"""How often a step is executed: exactly as often as its policy says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.boundaries.frozen_time import SECOND, Moment

from kairos import Backoff, Context, Next, Replay, step
from kairos.testing import drain


@pytest.mark.parametrize("attempts", [1, 2, 3])
@pytest.mark.parametrize("fails", [0, 1, 2, 3])
async def test_a_job_that_fails_so_often_is_executed_so_often(
    moment: Moment, attempts: int, fails: int
) -> None:
    seen: list[int] = []

    @moment.app.job(retry=Backoff(attempts=attempts, base=0, jitter=0))
    async def act(ctx: Context) -> str:
        seen.append(ctx.attempt)
        if ctx.attempt < fails:
            raise ValueError(f"attempt {ctx.attempt}")
        return "ok"

    job = await act.enqueue()
    await drain(moment.app)
    ended = await moment.app.get(job.id)
    assert seen == list(range(min(attempts, fails + 1)))
    if fails < attempts:
        assert (ended.state, ended.output, ended.error, ended.error_code) == ("success", "ok", None, None)
    else:
        assert (ended.state, ended.error) == ("failed", f"ValueError: attempt {attempts - 1}")
        assert ended.error_code == "ValueError"
    verbs = [row.verb for row in await moment.app.history(job.id)]
    spent = min(fails, attempts - 1)
    assert verbs == ["fail", "retry"] * spent + ["done" if fails < attempts else "stop"]


async def test_without_a_policy_there_is_one_attempt(moment: Moment) -> None:
    @moment.app.job
    async def act() -> None:
        raise ValueError("no")

    job = await act.enqueue()
    assert await drain(moment.app) == 1
    assert await moment.state(job.id) == "failed"


async def test_the_next_step_counts_its_attempts_from_nothing(moment: Moment) -> None:
    seen: list[tuple[str, int]] = []

    @moment.app.machine("m", retry=Backoff(attempts=3, base=0))
    class Machine:
        @step(initial=True)
        async def one(self, ctx: Context) -> Any:
            seen.append((ctx.step, ctx.attempt))
            if ctx.attempt < 2:
                raise ValueError("again")
            return Next("two")

        @step
        async def two(self, ctx: Context) -> Any:
            seen.append((ctx.step, ctx.attempt))
            raise ValueError("again")

    job = await Machine.enqueue()
    await drain(moment.app)
    assert seen == [(name, attempt) for name in ("one", "two") for attempt in range(3)]
    assert await moment.state(job.id) == "failed"


async def test_replays_and_retries_count_the_same_attempts(moment: Moment) -> None:
    seen: list[int] = []

    @moment.app.job(retry=Backoff(attempts=3, base=0))
    async def act(ctx: Context) -> Any:
        seen.append(ctx.attempt)
        if ctx.attempt == 0:
            return Replay()
        raise ValueError("no")

    await act.enqueue()
    await drain(moment.app)
    assert seen == [0, 1, 2]


async def test_the_delays_between_attempts_are_the_policy_s(moment: Moment) -> None:
    @moment.app.job(retry=Backoff(attempts=5, base=2, factor=3, cap=20, jitter=0))
    async def act() -> None:
        raise ValueError("no")

    job, now, waits = await act.enqueue(), moment.start, []
    while await drain(moment.app):
        due = (await moment.app.get(job.id)).run_at
        waits.append((due - now) / SECOND)
        now = due
        await moment.at(now)
    assert waits == [2, 6, 18, 20, 0]
