"""Looking at what the steps of a job said."""

from __future__ import annotations

from kairos.machine.names import LARGEST_ID, check_range
from kairos.store import rows
from kairos.store.query import Query, Verb
from kairos.store.rows import LogRow
from kairos.verbs.read import get, job_number

LARGEST_PAGE = 10_000


def logs(job_id: int, *, after: int = 0, limit: int = 1000) -> Verb[list[LogRow]]:
    """The lines of one job after a cursor, in order; a job that is not there is `NotFound`."""
    check_range(after, "after", 0, LARGEST_ID)
    check_range(limit, "limit", 1, LARGEST_PAGE)
    found = yield Query("read_logs", (job_number(job_id), after, limit))
    if not found:
        yield from get(job_id)
    return [rows.log_line(row) for row in found]
