"""How the latest jobs of an action, a queue or a schedule ended."""

from __future__ import annotations

from kairos.errors import BadRequest
from kairos.fsm.lifecycle import TERMINAL
from kairos.machine.field_checks import check_range
from kairos.operations.find_jobs import page
from kairos.shapes import read
from kairos.shapes.ended_job import EndedJob
from kairos.shapes.job_filters import Filters
from kairos.store.query import Operation, Query

MOST_ENDED_JOBS = 100


def ended_jobs(
    *, action: str | None = None, queue: str | None = None, schedule: str | None = None, limit: int = 20
) -> Operation[list[EndedJob]]:
    """Return how the newest ended jobs of one action, queue or schedule ended, newest first."""
    check_range(limit, "limit", 1, MOST_ENDED_JOBS)
    if sum(each is not None for each in (action, queue, schedule)) != 1:
        raise BadRequest("Give exactly one of action, queue and schedule.", field="action")
    filters = Filters(action=action, queue=queue, schedule=schedule, state=sorted(TERMINAL))
    found = yield from page(filters, limit=limit, whole=False)
    rows = yield Query("read_ended_jobs", ([job.id for job in found.jobs],))
    return [read(EndedJob, row) for row in rows]
