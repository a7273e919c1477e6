"""The routes of jobs: enqueue, list, read, change, wait, history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from kairos import operations, serializers, shapes, telemetry
from kairos.api import cursors
from kairos.api.event_hub import EventHub
from kairos.api.http_protocol import CLIENT_DONE
from kairos.api.idempotency import Key, once
from kairos.api.job_waiters import JobWaiters
from kairos.api.own_queue import check_job, check_own_queue
from kairos.api.path_converters import path_of
from kairos.api.queue_quota import check_queues
from kairos.api.replica_reads import read_aged
from kairos.api.responses import answer, caller_of, changed, kairos_of, origin_of, page_bytes
from kairos.api.schemas import jobs as schemas
from kairos.api.schemas.base import Answer
from kairos.app import Kairos
from kairos.errors import BadArguments, BadRequest
from kairos.fsm.lifecycle import JobState
from kairos.fsm.requests import REQUEST_BY_TARGET, REQUESTS, JobRequest
from kairos.machine.call import Call
from kairos.shapes.job import Job
from kairos.store.query import Operation

router = APIRouter(tags=["jobs"])


@router.post("/api/jobs", status_code=202, response_model=schemas.JobAnswer)
async def enqueue_job(request: Request, wanted: schemas.JobWanted, key: Key = None) -> Response:
    """Enqueue a job. An accepted job reaches exactly one named end."""
    kairos, ask = kairos_of(request), _named_call(request, wanted)
    await check_queues(request, wanted.queue)

    def work() -> Operation[Mapping[str, Any]]:
        (call,) = yield from _calls(kairos, [ask])
        job = yield from operations.enqueue(call)
        return {"job": serializers.job(job, kairos.registry)}

    return await once(request, key, 202, work)


@router.post("/api/jobs/batch", status_code=202, response_model=schemas.BatchAnswer)
async def enqueue_jobs(request: Request, wanted: schemas.BatchWanted, key: Key = None) -> Response:
    """Enqueue many jobs in one statement; if one is invalid, none is stored."""
    kairos = kairos_of(request)
    named_calls = [_named_call(request, each, index) for index, each in enumerate(wanted.jobs)]
    await check_queues(request, *(each.queue for each in wanted.jobs))

    def work() -> Operation[Mapping[str, Any]]:
        calls = yield from _calls(kairos, named_calls, batch=True)
        jobs = yield from operations.enqueue_many(calls)
        return {"jobs": [{"job": document(kairos, job), "isNew": job.is_new} for job in jobs]}

    return await once(request, key, 202, work)


@router.get("/api/jobs", response_model=schemas.JobList)
async def list_jobs(
    request: Request,
    filters: schemas.FilterQuery,
    cursor: cursors.Before = None,
    limit: cursors.Limit = 50,
) -> Response:
    """List jobs, newest first.

    If no index matches the filters (`text`, an `input` that no action declares searchable, two filters that share no
    index), the newest few thousand jobs are searched. The page may then be short or empty: `searchedTo` says how far
    the search went, and `nextCursor` continues from there.
    """
    kairos = kairos_of(request)
    most = page_bytes(request)
    before = cursors.read(cursor)
    page = await read_aged(
        request, lambda: operations.bounded_page(filters, before=before, limit=limit, most=most)
    )
    jobs = [document(kairos, job) for job in page.jobs]
    return answer(
        request, {"jobs": jobs, "searchedTo": page.searched_to, "nextCursor": cursors.write(page.next)}
    )


@router.get("/api/jobs/counts", response_model=schemas.CountsAnswer)
async def count_jobs(request: Request, filters: schemas.StatelessFilterQuery) -> Response:
    """Count the jobs that match the filters by state, up to 10,000 in each."""
    found = await read_aged(request, lambda: operations.counts(filters))
    more = list(found.at_least)
    return answer(request, {"counts": found.states, "capped": bool(more), "atLeast": more})


@router.get("/api/jobs/{id:number}", response_model=schemas.JobAnswer)
async def read_job(request: Request, id: int) -> Response:  # noqa: A002 (the name in the path)
    """Return one job as it is now."""
    kairos = kairos_of(request)
    return _job(request, await kairos.get(id))


@router.patch(path_of(REQUESTS["edit"]), response_model=schemas.JobAnswer)
async def edit_job(request: Request, id: int, changes: schemas.JobChanges) -> Response:  # noqa: A002
    """Change how a job that waits for a worker is scheduled; one that is due is put off by `snooze`."""
    given = {name: getattr(changes, name) for name in changes.model_fields_set}
    request.state.audit = changed(changes)
    await check_job(request, id)
    await check_queues(request, given.get("queue"))
    with_actor = operations.edit(id, given, actor=caller_of(request).actor)
    try:
        return _job(request, await kairos_of(request).run(with_actor))
    except BadRequest as error:
        raise _with_body_field(error) from error.__cause__


@router.delete(path_of(REQUESTS["delete"]), response_model=Answer)
async def delete_job(request: Request, id: int) -> Response:  # noqa: A002
    """Delete a job that ended, with its history, signals and logs."""
    await check_job(request, id)
    await kairos_of(request).run(operations.delete(id))
    return answer(request, {})


def _move_endpoint(asked: JobRequest, target: JobState) -> Callable[..., Awaitable[Response]]:
    """Build the endpoint of a request that moves a job."""

    async def move(request: Request, id: int, wanted: Any = None) -> Response:  # noqa: A002
        job = await kairos_of(request).get(id)
        check_own_queue(request, job.queue)
        details = {} if wanted is None else wanted.model_dump()
        return _job(request, await job.transition(target, actor=caller_of(request).actor, **details))

    move.__annotations__["wanted"] = schemas.body_of(asked) | None
    return move


for _target, _asked in REQUEST_BY_TARGET.items():
    _verb, *_rest = _asked.name.split("_")
    router.add_api_route(
        path_of(_asked),
        _move_endpoint(_asked, _target),
        methods=[_asked.method],
        name="_".join((_verb, "job", *_rest)),
        description=_asked.help,
        response_model=schemas.JobAnswer,
    )


@router.post(path_of(REQUESTS["retry"]), status_code=202, response_model=schemas.JobAnswer)
async def retry_job(request: Request, id: int, key: Key = None) -> Response:  # noqa: A002
    """Make a new job from one that ended; `retryOf` names the old one."""
    await check_job(request, id)
    kairos = kairos_of(request)

    def work() -> Operation[Mapping[str, Any]]:
        job = yield from kairos.retrying(id, **_origin(request))
        return {"job": serializers.job(job, kairos.registry)}

    return await once(request, key, 202, work)


@router.get("/api/jobs/{id:number}/wait", response_model=schemas.JobAnswer)
async def wait_for_job(
    request: Request,
    id: int,  # noqa: A002
    timeout: Annotated[float, Query(ge=0, le=60, description="Seconds.")] = 30,
) -> Response:
    """Wait for a job to end, at most for the timeout, and return it; its `state` says whether it has ended."""
    kairos = kairos_of(request)
    job = await kairos.get(id)
    if not job.is_terminal and timeout:
        waiters = await request.app.component(JobWaiters)
        hub = await request.app.component(EventHub)
        with hub.slots.taken(caller_of(request).id):
            await waiters.wait(id, timeout, request.scope.get("extensions", {}).get(CLIENT_DONE))
        job = await kairos.get(id)
    return _job(request, job)


@router.get("/api/jobs/{id:number}/history", response_model=schemas.HistoryAnswer)
async def read_history(
    request: Request,
    id: int,  # noqa: A002
    cursor: cursors.AfterId = None,
    limit: cursors.Limit = 500,
) -> Response:
    """Return the history of one job, in order."""
    kairos = kairos_of(request)
    most = page_bytes(request)
    found = await read_aged(
        request, lambda: operations.bounded_history(id, after=cursor or 0, limit=limit, most=most)
    )
    if any(row.state is not None for row in found.rows):
        history = serializers.history(found.rows, await kairos.get(id), kairos.registry)
    else:
        history = [shapes.document(row) for row in found.rows]
    more = str(found.rows[-1].id) if found.more else None
    return answer(request, {"history": history, "nextCursor": more})


def document(kairos: Kairos, job: Job) -> dict[str, Any]:
    """Return the document of a job among others, with redacted fields hidden."""
    return serializers.job(job, kairos.registry, with_state=False)


def _job(request: Request, job: Job) -> Response:
    return answer(request, {"job": serializers.job(job, kairos_of(request).registry)})


def _origin(request: Request) -> dict[str, str | None]:
    """Return the origin of a job with its trace: that of the request's own span, or the one it came with."""
    return {**origin_of(request), "trace": telemetry.traceparent()}


def _named_call(
    request: Request, wanted: schemas.JobWanted, index: int | None = None
) -> operations.NamedCall:
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
            raise _with_body_field(error, batch=index is not None)
    return operations.NamedCall(wanted.action, wanted.input, {**given, **_origin(request)})


def _calls(
    kairos: Kairos, named_calls: list[operations.NamedCall], *, batch: bool = False
) -> Operation[list[Call]]:
    try:
        return (yield from operations.calls(kairos.registry, named_calls))
    except BadRequest as error:
        raise _with_body_field(error, batch=batch) from error.__cause__


def _with_body_field(error: BadRequest, *, batch: bool = False) -> BadRequest:
    """Return the same error, with its field named as in the request's body."""
    field = error.field or ""
    if isinstance(error, BadArguments):
        field = f"input.{field}".rstrip(".")
    elif field == "state" or field.startswith(("state.", "state[")):
        field = f"input{field.removeprefix('state')}"
    elif not field.startswith("input"):
        field = to_camel(field)
    error.field = (f"jobs[{error.index}].{field}".rstrip(".") if batch else field) or None
    return error
