"""When a job is due: its own time, a replay's and a retry's, and what it is called until then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.boundaries.frozen_time import SECOND, US, Moment, around

from kairos import Backoff, Context, Done, InvalidTransition, Replay
from kairos.testing import drain


@around
@pytest.mark.parametrize("options", [lambda start: {"run_at": start + SECOND}, lambda _: {"delay": 1}])
async def test_a_job_is_scheduled_until_its_time_and_pending_from_then_on(
    moment: Moment, offset: timedelta, options: Callable[[Any], dict[str, Any]]
) -> None:
    job = await moment.enqueue(**options(moment.start))
    due = offset >= 0 * US
    await moment.at(moment.start + SECOND + offset)
    assert await moment.state(job) == ("pending" if due else "scheduled")
    assert [each.id for each in await moment.app.jobs(state="pending")] == [job][: int(due)]
    (queue,) = await moment.app.queues()
    assert (queue.scheduled, queue.pending) == (1 - due, due)
    (next_due,) = await moment.run("next_due", ["default"])
    assert next_due["wait"] == -offset
    assert len(await moment.worker().pick()) == due


@around
async def test_a_job_can_be_brought_forward_until_it_is_due(moment: Moment, offset: timedelta) -> None:
    job = await moment.enqueue(delay=1)
    await moment.at(moment.start + SECOND + offset)
    if offset >= 0 * US:
        with pytest.raises(InvalidTransition):
            await moment.app.run_now(job)
    else:
        assert (await moment.app.run_now(job)).run_at == moment.start + SECOND + offset
        assert len(await moment.worker().pick()) == 1


@around
@pytest.mark.parametrize("kind", ["replay", "retry"])
async def test_a_step_runs_again_when_its_delay_is_over(moment: Moment, offset: timedelta, kind: str) -> None:
    app, attempts = moment.app, []

    @app.job(retry=Backoff(attempts=2, base=10, jitter=0))
    async def act(ctx: Context) -> Any:
        attempts.append(ctx.attempt)
        if ctx.attempt:
            return Done("second")
        if kind == "retry":
            raise ValueError("first")
        return Replay(delay="10s")

    job = await act.enqueue()
    await drain(app)
    waiting = await app.get(job.id)
    assert (waiting.state, waiting.attempt, waiting.run_at) == ("scheduled", 1, moment.start + 10 * SECOND)
    await moment.at(moment.start + 10 * SECOND + offset)
    assert await drain(app) == (offset >= 0 * US)
    assert attempts == [0, 1][: 1 + (offset >= 0 * US)]


async def test_a_replay_without_a_delay_is_due_at_once(moment: Moment) -> None:
    @moment.app.job
    async def act(ctx: Context) -> Any:
        return Replay() if ctx.attempt < 3 else "done"

    job = await act.enqueue()
    assert await drain(moment.app) == 4
    assert [row.to_state for row in await moment.app.history(job.id)] == ["scheduled"] * 3 + ["success"]


async def test_the_order_of_a_queue_is_priority_then_time_then_id(moment: Moment) -> None:
    urgent_late, urgent, plain_late, plain, twin, idle = [
        await moment.enqueue(priority=priority, run_at=moment.start - age * US)
        for priority, age in [(-1, 0), (-1, 1), (0, 1), (0, 2), (0, 2), (32767, 1000)]
    ]
    assert await moment.worker().run() == [urgent, urgent_late, plain, twin, plain_late, idle]


@pytest.mark.parametrize("room", [0, 1, 2, 3, 4])
async def test_no_more_are_picked_than_there_is_room_for(moment: Moment, room: int) -> None:
    for priority in (1, 2, 3):
        await moment.enqueue(priority=priority)
    assert len(await moment.worker().pick(room=room)) == min(room, 3)
