"""One request for many jobs: those that a filter finds, a thousand at a time, each thousand by one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kairos.errors import BadRequest
from kairos.fsm.requests import REQUESTS
from kairos.operations.change_jobs import arguments, notify
from kairos.operations.find_jobs import page
from kairos.shapes.job import Page
from kairos.shapes.job_filters import Filters
from kairos.store.query import Operation, Query

BULK_BATCH = 1000
# A retry writes the input of each job again. More than these bytes of inputs, and one input more, are never written by
# one statement.
MOST_RETRIED_BYTES = 16 * 1024 * 1024
BULK = {request.word: request for request in REQUESTS.values() if request.in_bulk}


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """The counts of one batch; `next` is where to go on."""

    matched: int
    done: int
    refused: int
    next: int | None


def bulk(
    word: str,
    filters: Filters,
    *,
    before: int | None = None,
    dry_run: bool = False,
    protected_queue: str | None = None,
    **details: Any,
) -> Operation[BulkProgress]:
    """Make a request for at most a thousand of the jobs that a filter finds, newest first.

    Jobs with large inputs are retried fewer at a time. A job in a state that does not allow it, or of the
    `protected_queue`, is counted as refused and left as it is.
    """
    if (request := BULK.get(word)) is None:
        raise BadRequest(f"There is no bulk request {word!r}; it is one of {', '.join(BULK)}.", field="verb")
    parameters = () if dry_run else arguments(request, details)
    found = yield from page(filters, before=before, limit=BULK_BATCH, whole=False)
    if request is REQUESTS["retry"] and not dry_run:
        found = yield from _within(found)
    matched = len(found.jobs)
    jobs = [job for job in found.jobs if job.queue != protected_queue]
    if dry_run or not jobs:
        able = sum(job.state in request.allowed_in for job in jobs)
        return BulkProgress(matched, 0, matched - able, found.next)
    rows = yield Query(request.statement, ([job.id for job in jobs], *parameters))
    yield from notify(rows)
    done = sum(row["done"] for row in rows)
    return BulkProgress(matched, done, matched - done, found.next)


def _within(found: Page) -> Operation[Page]:
    """Return the page, or its beginning if the inputs of all its jobs have too many bytes."""
    if not found.jobs:
        return found
    ids = [job.id for job in found.jobs]
    (most,) = yield Query("inputs_within", (ids, MOST_RETRIED_BYTES))
    if most["jobs"] == len(ids):
        return found
    return Page(found.jobs[: most["jobs"]], ids[most["jobs"] - 1])
