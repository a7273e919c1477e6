"""Looking at jobs, and waiting for one to end."""

from __future__ import annotations

from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import BadRequest, JobFailed, NotFinished, NotFound
from kairos.fsm.lifecycle import JobState
from kairos.machine.names import LARGEST_ID
from kairos.store import rows
from kairos.store.query import Pause, Query, Verb
from kairos.store.rows import HistoryRow, Job, SignalRow


def get(job_id: int) -> Verb[Job]:
    """One job as it is now."""
    found = yield Query("read_jobs", ([job_number(job_id)],))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    return rows.job(found[0])


def history(job_id: int, *, after: int | None = None, limit: int | None = None) -> Verb[list[HistoryRow]]:
    """Everything that was committed for one job, in order; or at most `limit` rows after a row."""
    found = yield Query("read_history", (job_number(job_id), after, limit))
    return [HistoryRow(**row) for row in found]


def signals(job_id: int, *, after: int | None = None, limit: int | None = None) -> Verb[list[SignalRow]]:
    """Everything that was ever sent to one job, consumed or not; or at most `limit` after a signal."""
    found = yield Query("read_signals", (job_number(job_id), after, limit))
    return [rows.signal(row) for row in found]


def result(job_id: int, *, timeout: Duration | None = None) -> Verb[Any]:
    """Wait for a job to end and return its output; any other end raises `JobFailed`."""
    limit = None if timeout is None else duration(timeout, "timeout").total_seconds()
    waited, pause = 0.0, 0.01
    while True:
        job = yield from get(job_id)
        if job.state is JobState.SUCCESS:
            return job.output
        if job.is_terminal:
            raise JobFailed(
                f"Job {job.id} ({job.action}) is {job.state}: {job.error or job.cancel_reason}", job=job
            )
        if limit is not None and waited >= limit:
            raise NotFinished(f"Job {job.id} ({job.action}) is still {job.state} after {waited:g} s.")
        pause = pause if limit is None else min(pause, limit - waited)
        yield Pause(pause)
        waited += pause
        pause = min(pause * 1.5, 0.25)


def job_number(job_id: int) -> int:
    """An id that can name a job; any other names none."""
    if isinstance(job_id, bool) or not isinstance(job_id, int):
        raise BadRequest(f"A job's id is a whole number, not {job_id!r}.", field="id")
    if not 0 < job_id <= LARGEST_ID:
        raise NotFound(f"There is no job {job_id}.")
    return job_id
