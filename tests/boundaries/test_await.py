"""The deadline of an await: woken strictly before it, timed out from that microsecond on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.boundaries.frozen_time import SECOND, US, Moment, around
from tests.engine_statements import park

from kairos import Await, Context, Done, step
from kairos.testing import drain


async def parked(moment: Moment, **options: Any) -> int:
    hand, job = moment.worker(), await moment.enqueue()
    (claim,) = await hand.pick()
    assert await hand.commit(park(claim, "paid", "refused", **options)) == 1
    return job


@around
async def test_a_waiting_job_is_woken_or_timed_out_and_never_both(moment: Moment, offset: timedelta) -> None:
    job = await parked(moment, timeout=10 * SECOND)
    await moment.at(moment.start + 10 * SECOND + offset)
    late = offset >= 0 * US
    assert await moment.would("timeout_jobs", 100, None, []) == ({job} if late else set())
    assert await moment.app.signal(job, "paid") == ("delivered" if late else "woke")
    assert await moment.ids("timeout_jobs", 100, None, []) == ({job} if late else set())
    assert await moment.verbs_of(job) == ["await", "timeout" if late else "wake"]
    assert await moment.state(job) == "pending"


@around
async def test_the_sweeper_ends_an_await_at_the_instant_of_its_deadline(
    moment: Moment, offset: timedelta
) -> None:
    job = await parked(moment, timeout=10 * SECOND)
    await moment.at(moment.start + 10 * SECOND + offset)
    await moment.sweep()
    assert await moment.state(job) == ("waiting" if offset < 0 * US else "pending")


async def test_a_deadline_of_nothing_is_over_at_once(moment: Moment) -> None:
    job = await parked(moment, timeout=0 * SECOND)
    assert await moment.app.signal(job, "paid") == "delivered"
    assert await moment.ids("timeout_jobs", 100, None, []) == {job}


async def test_an_await_without_a_deadline_waits_for_ever(moment: Moment) -> None:
    job = await parked(moment)
    await moment.at(moment.start + timedelta(days=36500))
    assert await moment.ids("timeout_jobs", 100, None, []) == set()
    assert await moment.app.signal(job, "refused") == "woke"


@pytest.mark.parametrize("then", [None, "give_up"])
@around
async def test_after_its_deadline_the_job_goes_on_where_it_was_told_to(
    moment: Moment, offset: timedelta, then: str | None
) -> None:
    seen: list[tuple[str, tuple[str, ...], int]] = []

    @moment.app.machine("order")
    class Order:
        @step(initial=True)
        async def pay(self, ctx: Context) -> Any:
            seen.append((ctx.step, ctx.timed_out, ctx.attempt))
            if ctx.timed_out or ctx.take("paid"):
                return Done("went on")
            return Await("paid", "refused", timeout="10s", then=then)

        @step
        async def give_up(self, ctx: Context) -> Any:
            seen.append((ctx.step, ctx.timed_out, ctx.attempt))
            return Done("gave up")

    job = await Order.enqueue()
    await drain(moment.app)
    await moment.at(moment.start + 10 * SECOND + offset)
    await drain(moment.app)
    ended = await moment.app.get(job.id)
    if offset < 0 * US:
        assert (ended.state, ended.await_until) == ("waiting", moment.start + 10 * SECOND)
        assert len(seen) == 1
    else:
        assert ended.output == ("gave up" if then else "went on")
        assert seen[1] == (then or "pay", ("paid", "refused"), 0)


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
async def test_no_more_are_timed_out_at_once_than_asked(moment: Moment, limit: int) -> None:
    for _ in range(2):
        await parked(moment, timeout=0 * SECOND)
    assert len(await moment.ids("timeout_jobs", limit, None, [])) == min(limit, 2)
