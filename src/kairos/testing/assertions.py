"""Facts about jobs that a test of an application states."""

from __future__ import annotations

from typing import Any

from kairos.app import Kairos
from kairos.fsm.lifecycle import JobState
from kairos.store.rows import Job


async def assert_enqueued(app: Kairos, action: str, *, times: int | None = None, **given: Any) -> list[Job]:
    """There are jobs of that action with those arguments, exactly `times` of them if it says so; answers them."""
    jobs = [
        job
        for job in await app.jobs(action=action, limit=1000)
        if all(name in job.input and job.input[name] == value for name, value in given.items())
    ]
    there = f"{len(jobs)} jobs of {action!r} with {given}" if given else f"{len(jobs)} jobs of {action!r}"
    assert jobs if times is None else len(jobs) == times, f"there are {there}"
    return jobs


async def assert_state(app: Kairos, job_id: int, state: JobState | str) -> Job:
    """The job is in that state now; answers it."""
    job: Job = await app.get(job_id)
    assert job.state == JobState(state), (
        f"job {job.id} is {job.state}: {job.error or job.cancel_reason or 'no error'}"
    )
    return job
