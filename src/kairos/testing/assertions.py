"""Assertions about jobs; those on an async app are awaited."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, overload

from kairos.app import Kairos, SyncKairos
from kairos.fsm.lifecycle import JobState
from kairos.shapes.job import Job


@overload
def assert_enqueued(
    app: Kairos, action: str, *, times: int | None = ..., **given: Any
) -> Coroutine[Any, Any, list[Job]]: ...
@overload
def assert_enqueued(app: SyncKairos, action: str, *, times: int | None = ..., **given: Any) -> list[Job]: ...
def assert_enqueued(app: Kairos | SyncKairos, action: str, *, times: int | None = None, **given: Any) -> Any:
    """Assert that jobs of the action with these arguments exist, exactly `times` if given; return them."""
    if isinstance(app, SyncKairos):
        return _enqueued(app.jobs(action=action, limit=1000), action, times, given)

    async def check(app: Kairos) -> list[Job]:
        return _enqueued(await app.jobs(action=action, limit=1000), action, times, given)

    return check(app)


@overload
def assert_state(app: Kairos, job_id: int, state: JobState | str) -> Coroutine[Any, Any, Job]: ...
@overload
def assert_state(app: SyncKairos, job_id: int, state: JobState | str) -> Job: ...
def assert_state(app: Kairos | SyncKairos, job_id: int, state: JobState | str) -> Any:
    """Assert the job's present state; return the job."""
    if isinstance(app, SyncKairos):
        return _in_state(app.get(job_id), state)

    async def check(app: Kairos) -> Job:
        return _in_state(await app.get(job_id), state)

    return check(app)


def _enqueued(found: Sequence[Job], action: str, times: int | None, given: dict[str, Any]) -> list[Job]:
    jobs = [
        job
        for job in found
        if all(name in job.input and job.input[name] == value for name, value in given.items())
    ]
    there = f"{len(jobs)} jobs of {action!r} with {given}" if given else f"{len(jobs)} jobs of {action!r}"
    assert jobs if times is None else len(jobs) == times, f"there are {there}"
    return jobs


def _in_state(job: Job, state: JobState | str) -> Job:
    assert job.state == JobState(state), (
        f"job {job.id} is {job.state}: {job.error or job.cancel_reason or 'no error'}"
    )
    return job
