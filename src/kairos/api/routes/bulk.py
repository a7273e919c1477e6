"""One request for all jobs that a filter finds, a thousand at a time."""

from __future__ import annotations

from enum import StrEnum

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import operations
from kairos.api import cursors
from kairos.api.own_queue import may_change_own_queue
from kairos.api.responses import answer, kairos_of, origin_of
from kairos.api.schemas import jobs as schemas
from kairos.errors import BadRequest
from kairos.machine.field_checks import OWN_QUEUE

router = APIRouter(tags=["jobs"])


BulkVerb = StrEnum("BulkVerb", {word: word for word in operations.BULK})  # type: ignore[misc]


@router.post("/api/jobs/bulk/{verb}", response_model=schemas.BulkAnswer)
async def change_jobs(request: Request, verb: BulkVerb, wanted: schemas.BulkWanted) -> Response:
    """Make one request for at most a thousand of the jobs that a filter finds, newest first.

    A job whose state does not allow it is counted as refused and left alone. So are jobs of the queue `kairos`, unless
    the caller has the scope `admin`. Go on with `nextCursor` until it is null.
    """
    portion = await kairos_of(request).run(
        operations.bulk(
            verb,
            _filters(wanted.filter),
            before=cursors.read(wanted.cursor),
            dry_run=wanted.dry_run,
            protected_queue=None if may_change_own_queue(request) else OWN_QUEUE,
            **origin_of(request),
            **wanted.model_dump(include=set(schemas.Details.model_fields)),
        )
    )
    counts = {"matched": portion.matched, "done": portion.done, "refused": portion.refused}
    request.state.audit = {
        "filter": wanted.filter.model_dump(mode="json", by_alias=True, exclude_none=True),
        "dryRun": wanted.dry_run,
        **counts,
    }
    return answer(request, {**counts, "nextCursor": cursors.write(portion.next)})


def _filters(given: schemas.Filter) -> operations.Filters:
    values = given.model_dump(exclude_none=True)
    if not values:
        raise BadRequest(
            "The filter is empty and would match every job: give at least one of its fields.", field="filter"
        )
    return operations.Filters(**values)
