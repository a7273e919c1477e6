"""Read the log lines of a job."""

from __future__ import annotations

from kairos.machine.field_checks import LARGEST_ID, check_range
from kairos.operations.read_jobs import get, job_number
from kairos.shapes import read
from kairos.shapes.log_line import LogRow
from kairos.store.query import Operation, Query

LARGEST_PAGE = 10_000


def logs(job_id: int, *, after: int = 0, limit: int = 1000) -> Operation[list[LogRow]]:
    """Return the lines of one job after a cursor, in order; raise `NotFound` if there is no such job."""
    check_range(after, "after", 0, LARGEST_ID)
    check_range(limit, "limit", 1, LARGEST_PAGE)
    found = yield Query("read_logs", (job_number(job_id), after, limit))
    if not found:
        yield from get(job_id)
    return [read(LogRow, row) for row in found]
