"""One verb for all jobs that a filter finds, portion by portion."""

from __future__ import annotations

from enum import StrEnum

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import verbs
from kairos.api import cursors
from kairos.api import schemas_jobs as schemas
from kairos.api.answer import answer, caller_of, kairos_of
from kairos.errors import BadRequest

router = APIRouter(tags=["jobs"])


class BulkVerb(StrEnum):
    CANCEL = "cancel"
    RETRY = "retry"
    RUN_NOW = "run-now"
    DELETE = "delete"


@router.post("/api/jobs/bulk/{verb}", response_model=schemas.BulkAnswer)
async def change_jobs(request: Request, verb: BulkVerb, wanted: schemas.BulkWanted) -> Response:
    """Cancel, retry, run or delete at most a thousand of the jobs that a filter finds, newest first.

    A job that is in no state for it is counted as refused and left alone. Go on with `nextCursor` until it is null.
    """
    asked = verbs.Asked(caller_of(request).actor, request.state.request_id, wanted.reason)
    portion = await kairos_of(request).run(
        verbs.bulk(
            verb, _filters(wanted.filter), asked, before=cursors.read(wanted.cursor), dry_run=wanted.dry_run
        )
    )
    counts = {"matched": portion.matched, "done": portion.done, "refused": portion.refused}
    request.state.audit = {
        "filter": wanted.filter.model_dump(mode="json", by_alias=True, exclude_none=True),
        "dryRun": wanted.dry_run,
        **counts,
    }
    return answer(request, {**counts, "nextCursor": cursors.write(portion.next)})


def _filters(given: schemas.Filter) -> verbs.Filters:
    values = given.model_dump(exclude_none=True)
    if not values:
        raise BadRequest("A filter that names nothing would take every job: name something.", field="filter")
    renamed = {"from_": "inserted_from", "to": "inserted_to"}
    return verbs.Filters(**{renamed.get(name, name): value for name, value in values.items()})
