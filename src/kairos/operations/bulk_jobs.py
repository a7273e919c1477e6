"""One request for many jobs: those that a filter finds, a thousand at a time, each thousand by one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kairos.errors import BadRequest
from kairos.fsm.requests import REQUESTS
from kairos.operations.change_jobs import arguments, notify
from kairos.operations.find_jobs import page
from kairos.shapes.job_filters import Filters
from kairos.store.query import Operation, Query

BULK_BATCH = 1000
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

    A job in a state that does not allow it, or of the `protected_queue`, is counted as refused and left as it is.
    """
    if (request := BULK.get(word)) is None:
        raise BadRequest(f"There is no bulk request {word!r}; it is one of {', '.join(BULK)}.", field="verb")
    parameters = () if dry_run else arguments(request, details)
    found = yield from page(filters, before=before, limit=BULK_BATCH, whole=False)
    matched = len(found.jobs)
    jobs = [job for job in found.jobs if job.queue != protected_queue]
    if dry_run or not jobs:
        able = sum(job.state in request.allowed_in for job in jobs)
        return BulkProgress(matched, 0, matched - able, found.next)
    rows = yield Query(request.statement, ([job.id for job in jobs], *parameters))
    yield from notify(rows)
    done = sum(row["done"] for row in rows)
    return BulkProgress(matched, done, matched - done, found.next)
