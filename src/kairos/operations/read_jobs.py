"""Read jobs, their history and signals, and wait for one to end."""

from __future__ import annotations

from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import BadRequest, NotFinished
from kairos.fsm.lifecycle import JobState
from kairos.machine.field_checks import checked_id
from kairos.shapes import read
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job, failure_of
from kairos.shapes.signal import SignalRow
from kairos.store.query import Operation, Pause, Query, required_row


def get(job_id: int) -> Operation[Job]:
    """Return one job as it is now."""
    row = yield from required_row(Query("read_jobs", ([job_number(job_id)],)), f"There is no job {job_id}.")
    return read(Job, row)


def history(job_id: int) -> Operation[list[HistoryRow]]:
    """Return the history of one job, in order."""
    found = yield Query("read_history", (job_number(job_id),))
    return [read(HistoryRow, row) for row in found]


def signals(job_id: int) -> Operation[list[SignalRow]]:
    """Return the signals sent to one job, consumed or not."""
    found = yield Query("read_signals", (job_number(job_id),))
    return [read(SignalRow, row) for row in found]


def result(job_id: int, *, timeout: Duration | None = None) -> Operation[Any]:
    """Wait for a job to end and return its output; any other end raises `JobFailed`."""
    limit = None if timeout is None else duration(timeout, "timeout").total_seconds()
    waited, pause = 0.0, 0.01
    while True:
        job = yield from get(job_id)
        if job.state is JobState.SUCCESS:
            return job.output
        if job.is_terminal:
            raise failure_of(job)
        if limit is not None and waited >= limit:
            raise NotFinished(f"Job {job.id} ({job.action}) is still {job.state} after {waited:g} s.")
        pause = pause if limit is None else min(pause, limit - waited)
        yield Pause(pause)
        waited += pause
        pause = min(pause * 1.5, 0.25)


def job_number(job_id: Any) -> int:
    """Return a valid job id; raise `NotFound` for a number that no job can have."""
    if isinstance(job_id, Job):
        raise BadRequest("A job's id is wanted here, not the job: pass job.id.", field="id")
    return checked_id(job_id, "job")
