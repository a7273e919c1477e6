"""Pages bounded in bytes: a page ends early when its rows reach a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from kairos.machine.field_checks import LARGEST_ID, check_range
from kairos.operations.find_jobs import page
from kairos.operations.logs import LARGEST_PAGE
from kairos.operations.read_jobs import get, job_number
from kairos.shapes import read
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job, Page
from kairos.shapes.job_filters import Filters
from kairos.shapes.log_line import LogRow
from kairos.shapes.signal import SignalRow
from kairos.store.query import Operation, Query

T = TypeVar("T", HistoryRow, LogRow, SignalRow)


@dataclass(frozen=True, slots=True)
class RowPage(Generic[T]):
    """Rows in order; `more` means that others may follow."""

    rows: list[T]
    more: bool


def bounded_page(
    filters: Filters, *, before: int | None = None, limit: int = 50, most: int
) -> Operation[Page]:
    """Return a page of jobs of about `most` bytes: find the ids first, then read as many jobs as fit."""
    found = yield from page(filters, before=before, limit=limit, whole=False)
    if not found.jobs:
        return found
    ids = [job.id for job in found.jobs]
    rows = yield Query("read_jobs_within", (ids, most))
    jobs = [read(Job, row) for row in rows]
    if not rows or rows[-1]["bytes"] < most:
        return replace(found, jobs=jobs)
    place = rows[-1]["place"]
    if place == len(ids):
        return replace(found, jobs=jobs)
    return Page(jobs, ids[place - 1])


def bounded_signals(job_id: int, *, after: int, limit: int, most: int) -> Operation[RowPage[SignalRow]]:
    """Return the signals sent to one job, consumed or not, after a signal's id."""
    return (yield from _row_page(SignalRow, "page_signals", job_id, after, limit, most))


def bounded_history(job_id: int, *, after: int, limit: int, most: int) -> Operation[RowPage[HistoryRow]]:
    """Return the history of one job after a row's id."""
    return (yield from _row_page(HistoryRow, "page_history", job_id, after, limit, most))


def bounded_logs(job_id: int, *, after: int, limit: int, most: int) -> Operation[RowPage[LogRow]]:
    """Return the log lines of one job after a line's cursor."""
    check_range(after, "after", 0, LARGEST_ID)
    check_range(limit, "limit", 1, LARGEST_PAGE)
    return (yield from _row_page(LogRow, "page_logs", job_id, after, limit, most))


def _row_page(
    kind: type[T], statement: str, job_id: int, after: int, limit: int, most: int
) -> Operation[RowPage[T]]:
    found = yield Query(statement, (job_number(job_id), after, limit + 1, most))
    if not found:
        yield from get(job_id)
    is_full = bool(found) and found[-1]["bytes"] >= most
    return RowPage([read(kind, row) for row in found[:limit]], len(found) > limit or is_full)
