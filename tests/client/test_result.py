"""`result()`: the output, or the end it came to, or that it did not come."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.actions import in_state

from kairos import Kairos
from kairos.errors import BadRequest, JobFailed, NotFinished, NotFound


async def test_the_output_is_what_the_job_returned(app: Kairos) -> None:
    values: list[Any] = [None, 0, "", False, [], {}, "text", {"a": [1, 2.5, None]}]
    jobs = await app.enqueue_many(app.action("echo").call(value) for value in values)
    async with app.worker(poll=0.1):
        assert [await app.result(job.id, timeout=60) for job in jobs] == values


@pytest.mark.parametrize(
    ("state", "said"),
    [("failed", "ValueError: no"), ("cancelled", "enough"), ("expired", "its TTL closed")],
)
async def test_any_other_end_is_raised_with_the_job(app: Kairos, state: str, said: str) -> None:
    job = await in_state(app, state)
    with pytest.raises(JobFailed, match=said) as failed:
        await app.result(job.id)
    assert (failed.value.job.id, failed.value.job.state) == (job.id, state)
    assert f"Job {job.id} ({job.action}) is {state}" in failed.value.message


@pytest.mark.parametrize("state", ["scheduled", "pending", "running", "waiting"])
@pytest.mark.parametrize("timeout", [0, "10ms"])
async def test_a_job_that_goes_on_is_not_waited_for_longer_than_asked(
    app: Kairos, state: str, timeout: Any
) -> None:
    job = await in_state(app, state)
    with pytest.raises(NotFinished, match=f"is still {state}"):
        await app.result(job.id, timeout=timeout)


async def test_without_a_limit_it_waits_until_the_end_comes(app: Kairos) -> None:
    job = await in_state(app, "scheduled")
    waiting = asyncio.create_task(app.result(job.id))
    for _ in range(3):
        assert not (await asyncio.wait([waiting], timeout=0.02))[0]
    await app.cancel(job.id, reason="enough")
    with pytest.raises(JobFailed, match="enough"):
        await asyncio.wait_for(waiting, 60)


async def test_what_is_no_job_has_no_result(app: Kairos) -> None:
    for unknown in (77777, 0, -1, 2**63, 10**30):
        with pytest.raises(NotFound, match=f"There is no job {unknown}"):
            await app.result(unknown)
    for wrong in (None, "5", 5.0, True):
        with pytest.raises(BadRequest, match="whole number"):
            await app.result(wrong)
    with pytest.raises(BadRequest) as refused:
        await app.result(1, timeout=-1)
    assert refused.value.field == "timeout"
