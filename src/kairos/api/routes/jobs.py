"""Jobs: accept them, look at them, change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from kairos import documents, telemetry, verbs
from kairos.api import cursors
from kairos.api import schemas_jobs as schemas
from kairos.api.answer import answer, caller_of, changed, kairos_of
from kairos.api.idempotent import Key, once
from kairos.api.schemas import Answer, Instant
from kairos.api.schemas_jobs import Name
from kairos.api.waiting import Waiters
from kairos.app import Kairos
from kairos.errors import BadArguments, BadRequest
from kairos.fsm.lifecycle import JobState
from kairos.machine.call import Call
from kairos.store.query import Verb
from kairos.store.rows import Job

router = APIRouter(tags=["jobs"])


@router.post("/api/jobs", status_code=202, response_model=schemas.JobAnswer)
async def enqueue_job(request: Request, wanted: schemas.JobWanted, key: Key = None) -> Response:
    """Accept a job: once this is answered, it reaches exactly one named end."""
    kairos, ask = kairos_of(request), _ask(request, wanted)

    def work() -> Verb[Mapping[str, Any]]:
        (call,) = yield from _calls(kairos, [ask])
        job = yield from verbs.enqueue(call)
        return {"job": document(kairos, job)}

    return await once(request, key, 202, work)


@router.post("/api/jobs/batch", status_code=202, response_model=schemas.BatchAnswer)
async def enqueue_jobs(request: Request, wanted: schemas.BatchWanted, key: Key = None) -> Response:
    """Accept many jobs in one statement; if one is wrong, none is stored."""
    kairos = kairos_of(request)
    asks = [_ask(request, each, index) for index, each in enumerate(wanted.jobs)]

    def work() -> Verb[Mapping[str, Any]]:
        calls = yield from _calls(kairos, asks, batch=True)
        jobs = yield from verbs.enqueue_many(calls)
        return {"jobs": [{"job": document(kairos, job), "isNew": job.is_new} for job in jobs]}

    return await once(request, key, 202, work)


@router.get("/api/jobs", response_model=schemas.JobList)
async def list_jobs(
    request: Request,
    state: Annotated[list[JobState] | None, Query()] = None,
    action: Annotated[Name | None, Query()] = None,
    queue: Annotated[Name | None, Query()] = None,
    tag: Annotated[Name | None, Query()] = None,
    key: Annotated[Name | None, Query()] = None,
    schedule: Annotated[Name | None, Query()] = None,
    text: Annotated[Name | None, Query()] = None,
    from_: Annotated[Instant | None, Query(alias="from")] = None,
    to: Annotated[Instant | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """Jobs, newest first. A page may be short, or empty, and still go on: follow `nextCursor` until it is null."""
    filters = verbs.Filters(
        state=state,
        action=action,
        queue=queue,
        tag=tag,
        key=key,
        schedule=schedule,
        text=text,
        inserted_from=from_,
        inserted_to=to,
    )
    kairos = kairos_of(request)
    page = await kairos.run(verbs.page(filters, before=cursors.read(cursor), limit=limit))
    jobs = [document(kairos, job) for job in page.jobs]
    return answer(request, {"jobs": jobs, "nextCursor": cursors.write(page.next)})


@router.get("/api/jobs/{id:number}", response_model=schemas.JobAnswer)
async def read_job(request: Request, id: int) -> Response:  # noqa: A002 (the name in the path)
    """One job as it is now."""
    kairos = kairos_of(request)
    return _job(request, await kairos.get(id))


@router.patch("/api/jobs/{id:number}", response_model=schemas.JobAnswer)
async def edit_job(request: Request, id: int, changes: schemas.JobChanges) -> Response:  # noqa: A002
    """Change how a job that waits for a worker is scheduled; what is due cannot be put off."""
    given = {name: getattr(changes, name) for name in changes.model_fields_set}
    request.state.audit = changed(changes)
    with_actor = verbs.edit(id, given, actor=caller_of(request).actor)
    try:
        return _job(request, await kairos_of(request).run(with_actor))
    except BadRequest as error:
        raise _placed(error) from error.__cause__


@router.delete("/api/jobs/{id:number}", response_model=Answer)
async def delete_job(request: Request, id: int) -> Response:  # noqa: A002
    """Delete a job that ended, with its history, signals and logs."""
    await kairos_of(request).run(verbs.delete(id))
    return answer(request, {})


@router.post("/api/jobs/{id:number}/cancel", response_model=schemas.JobAnswer)
async def cancel_job(request: Request, id: int, why: schemas.Reason | None = None) -> Response:  # noqa: A002
    """Cancel a job before it runs, or ask a running one to stop."""
    job = await kairos_of(request).get(id)
    reason = None if why is None else why.reason
    actor = caller_of(request).actor
    return _job(request, await job.transition(JobState.CANCELLED, reason=reason, actor=actor))


@router.post("/api/jobs/{id:number}/run-now", response_model=schemas.JobAnswer)
async def run_job_now(request: Request, id: int) -> Response:  # noqa: A002
    """Bring a scheduled job's time forward to now."""
    job = await kairos_of(request).get(id)
    return _job(request, await job.transition(JobState.PENDING, actor=caller_of(request).actor))


@router.post("/api/jobs/{id:number}/retry", status_code=202, response_model=schemas.JobAnswer)
async def retry_job(request: Request, id: int, key: Key = None) -> Response:  # noqa: A002
    """Make a new job from one that ended; `retryOf` names the old one."""
    kairos = kairos_of(request)

    def work() -> Verb[Mapping[str, Any]]:
        job = yield from kairos.retrying(id, **_origin(request))
        return {"job": document(kairos, job)}

    return await once(request, key, 202, work)


@router.get("/api/jobs/{id:number}/wait", response_model=schemas.JobAnswer)
async def wait_for_job(
    request: Request,
    id: int,  # noqa: A002
    timeout: Annotated[float, Query(ge=0, le=60, description="Seconds.")] = 30,
) -> Response:
    """The job as soon as it has ended, or as it is when the time is over: its `state` tells."""
    kairos = kairos_of(request)
    job = await kairos.get(id)
    if not job.is_terminal and timeout:
        waiters = await request.app.part(Waiters)
        await waiters.ended(id, timeout)
        job = await kairos.get(id)
    return _job(request, job)


@router.get("/api/jobs/{id:number}/history", response_model=schemas.HistoryAnswer)
async def read_history(
    request: Request,
    id: int,  # noqa: A002
    cursor: cursors.AfterId = None,
    limit: cursors.Limit = 500,
) -> Response:
    """Everything that was committed for one job, in order."""
    kairos = kairos_of(request)
    found = await kairos.run(verbs.history(id, after=cursor, limit=limit + 1))
    if not found:
        await kairos.get(id)
    rows, more = cursors.page(found, limit, lambda row: row.id)
    return answer(request, {"history": [documents.change(row) for row in rows], "nextCursor": more})


def document(kairos: Kairos, job: Job) -> dict[str, Any]:
    """A job as everybody may see it."""
    return documents.job(job, kairos.registry)


def _job(request: Request, job: Job) -> Response:
    return answer(request, {"job": document(kairos_of(request), job)})


def _origin(request: Request) -> dict[str, str | None]:
    """Where a job comes from: who asks, over which request, within which trace."""
    return {
        "actor": caller_of(request).actor,
        "request_id": request.state.request_id,
        "trace": telemetry.traceparent(),  # of the request's own span, or the one it came with
    }


def _ask(request: Request, wanted: schemas.JobWanted, index: int | None = None) -> verbs.Ask:
    given = {
        name: value
        for name in wanted.model_fields_set - {"action", "input"}
        if (value := getattr(wanted, name)) is not None
    }
    if wanted.retry is not None:
        given["retry"] = wanted.retry.policy()
    for one, other in (("when", "run_at"), ("ttl", "expires_at")):
        if one in given and other in given:
            error = BadRequest(
                f"{one} and {to_camel(other)} say the same thing twice: give one of them.", field=one
            )
            error.index = index
            raise _placed(error, batch=index is not None)
    return verbs.Ask(wanted.action, wanted.input, {**given, **_origin(request)})


def _calls(kairos: Kairos, asks: list[verbs.Ask], *, batch: bool = False) -> Verb[list[Call]]:
    try:
        return (yield from verbs.calls(kairos.registry, asks))
    except BadRequest as error:
        raise _placed(error, batch=batch) from error.__cause__


def _placed(error: BadRequest, *, batch: bool = False) -> BadRequest:
    """The same refusal, with the field as the body of the request calls it."""
    field = error.field or ""
    if isinstance(error, BadArguments):
        field = f"input.{field}".rstrip(".")
    elif field == "state" or field.startswith(("state.", "state[")):
        field = f"input{field.removeprefix('state')}"
    elif not field.startswith("input"):
        field = to_camel(field)
    error.field = (f"jobs[{error.index}].{field}".rstrip(".") if batch else field) or None
    return error
