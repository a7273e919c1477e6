"""Schedules: what fires when, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import documents
from kairos.api import cursors
from kairos.api import schemas_schedules as schemas
from kairos.api.answer import answer, caller_of, changed, kairos_of
from kairos.api.filled import filled
from kairos.api.schemas_jobs import JobAnswer
from kairos.app import Kairos
from kairos.errors import BadCursor, BadRequest, Conflict
from kairos.machine.call import Call
from kairos.machine.names import check_instant, check_name
from kairos.store.query import Row, Verb
from kairos.store.rows import Job
from kairos.store.schedules import Schedule
from kairos.verbs import schedules as verbs
from kairos.verbs import ticks as tick_verbs
from kairos.verbs.ask import Ask, calls
from kairos.verbs.declared import ORPHANED
from kairos.verbs.read import get
from kairos.verbs.schedule_options import ScheduleOptions

router = APIRouter(tags=["schedules"])

_POLICIES = ("tz", "overlap", "catch_up", "catch_up_within", "jitter", "start", "end", "count")
_OPTIONS = ("queue", "priority", "key", "ttl", "tags")
_MAY_BE_NULL = frozenset({"start", "end", "count", "key", "ttl"})


@router.get("/api/schedules", response_model=schemas.ScheduleList)
async def list_schedules(
    request: Request,
    cursor: Annotated[str | None, Query(max_length=255)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Every schedule, by name."""
    kairos = kairos_of(request)
    if cursor is not None:
        _check_cursor(cursor)
    found = await kairos.run(verbs.list_all(after=cursor, limit=limit + 1, calendars=kairos.calendars))
    schedules, more = cursors.page(found, limit, lambda schedule: schedule.name)
    return answer(
        request,
        {"schedules": [documents.schedule(each, kairos.registry) for each in schedules], "nextCursor": more},
    )


@router.post("/api/schedules", response_model=schemas.ScheduleAnswer, status_code=201)
async def add_schedule(request: Request, body: schemas.ScheduleWanted) -> Response:
    """Make a schedule; a name that is taken is a conflict."""
    kairos = kairos_of(request)
    options = {name: value for name in _OPTIONS if (value := getattr(body, name)) is not None}
    request.state.audit = {"schedule": body.name}
    schedule = await kairos.run(_add(kairos, body, options))
    return answer(request, {"schedule": documents.schedule(schedule, kairos.registry)}, 201)


@router.get("/api/schedules/{name}", response_model=schemas.ScheduleAnswer)
async def read_schedule(request: Request, name: str) -> Response:
    """One schedule, with its next five ticks."""
    kairos = kairos_of(request)
    schedule = await kairos.run(verbs.get(name, kairos.calendars))
    return answer(request, {"schedule": documents.schedule(schedule, kairos.registry)})


@router.patch("/api/schedules/{name}", response_model=schemas.ScheduleAnswer)
async def edit_schedule(request: Request, name: str, body: schemas.ScheduleChange) -> Response:
    """Change a schedule's words, policies, input or options; its later ticks are new ticks."""
    kairos = kairos_of(request)
    changes = {field: getattr(body, field) for field in body.model_fields_set}
    request.state.audit = changed(body)
    for field, value in changes.items():
        if value is None and field not in _MAY_BE_NULL:
            raise BadRequest(f"{field} cannot be null: leave it out to keep it.", field=field)
    schedule = await kairos.run(_edit(kairos, name, changes))
    return answer(request, {"schedule": documents.schedule(schedule, kairos.registry)})


@router.delete("/api/schedules/{name}", response_model=schemas.ScheduleAnswer)
async def delete_schedule(request: Request, name: str) -> Response:
    """Delete a schedule and answer it as it was; its jobs and the record of its ticks stay."""
    kairos = kairos_of(request)
    schedule = await kairos.run(_remove(kairos, name))
    return answer(request, {"schedule": documents.schedule(schedule, kairos.registry)})


@router.post("/api/schedules/{name}/pause", response_model=schemas.ScheduleAnswer)
async def pause_schedule(request: Request, name: str, body: schemas.PauseWanted | None = None) -> Response:
    """Let a schedule fire no more until it is resumed."""
    kairos = kairos_of(request)
    reason = None if body is None else body.reason
    schedule = await kairos.run(verbs.pause(name, reason, calendars=kairos.calendars))
    return answer(request, {"schedule": documents.schedule(schedule, kairos.registry)})


@router.post("/api/schedules/{name}/resume", response_model=schemas.ScheduleAnswer)
async def resume_schedule(request: Request, name: str) -> Response:
    """Let a schedule fire again; the ticks that fell into the pause are recorded as skipped."""
    kairos = kairos_of(request)
    schedule = await kairos.run(verbs.resume(name, calendars=kairos.calendars))
    return answer(request, {"schedule": documents.schedule(schedule, kairos.registry)})


@router.post("/api/schedules/{name}/trigger", response_model=JobAnswer, status_code=202)
async def trigger_schedule(request: Request, name: str) -> Response:
    """Enqueue a schedule's job now, outside its ticks."""
    kairos = kairos_of(request)

    def work() -> Verb[Job]:
        return (yield from get((yield from tick_verbs.trigger(name, **_origin(request)))))

    # In one transaction: a job that was made is answered, and one that cannot be answered was not made.
    job = await kairos.transact(work)
    return answer(request, {"job": documents.job(job, kairos.registry)}, 202)


@router.post("/api/schedules/{name}/backfill", response_model=schemas.Backfilled, status_code=202)
async def backfill_schedule(request: Request, name: str, body: schemas.BackfillWanted) -> Response:
    """Fire the ticks of a time that has passed that were never decided, at most 10,000 at once."""
    kairos = kairos_of(request)
    backfill = tick_verbs.backfill(name, body.start, body.end, calendars=kairos.calendars, **_origin(request))
    jobs = await kairos.run(backfill)
    return answer(request, {"jobs": [{"id": each} for each in jobs]}, 202)


@router.get("/api/schedules/{name}/ticks", response_model=schemas.TickList)
async def list_ticks(
    request: Request,
    name: str,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """What was decided on a schedule's ticks, newest first; also once the schedule is deleted."""
    kairos = kairos_of(request)
    before, generation = _position(cursor)
    found = await kairos.run(tick_verbs.ticks(name, before=before, generation=generation, limit=limit))
    if not found:
        await kairos.run(verbs.read_row(name))  # a name that never was one is not found
    last = found[-1] if len(found) == limit else None
    more = None if last is None else f"{last.tick_at.isoformat()}~{last.generation}"
    return answer(request, {"ticks": [documents.tick(each) for each in found], "nextCursor": more})


def _origin(request: Request) -> dict[str, str | None]:
    return {"actor": caller_of(request).actor, "request_id": request.state.request_id}


def _add(kairos: Kairos, body: schemas.ScheduleWanted, options: Mapping[str, Any]) -> Verb[Schedule]:
    (call,) = yield from calls(kairos.registry, [Ask(body.action, body.input, options)])
    policies = ScheduleOptions.of({name: getattr(body, name) for name in _POLICIES})
    return (
        yield from verbs.save(body.name, body.when, call, policies, calendars=kairos.calendars, generation=0)
    )


def _edit(kairos: Kairos, name: str, changes: Mapping[str, Any]) -> Verb[Schedule]:
    _refuse_declared(kairos, (yield from verbs.get(name)), "changed")

    def call(row: Row) -> Verb[Call]:
        return (yield from _changed_call(kairos, row, changes))

    return (
        yield from verbs.edit(
            name,
            {field: value for field, value in changes.items() if field in _POLICIES},
            when=changes.get("when"),
            call=call,
            calendars=kairos.calendars,
        )
    )


def _changed_call(kairos: Kairos, row: Row, changes: Mapping[str, Any]) -> Verb[Call]:
    """What the schedule runs from now on: new arguments are checked, those that stay were."""
    call = verbs.stored_call(row)
    if "action" in changes or "input" in changes:
        unshown = documents.unshown(row["fsm"], row["redact"] or (), kairos.registry)
        stored = json.loads(row["state"])
        if changes.get("action", row["fsm"]) != row["fsm"] and documents.hidden(stored, unshown) != stored:
            # Another action may hide less: what nobody was shown does not move to it.
            if "input" not in changes:
                raise BadRequest(
                    "The input holds what is hidden: give the other action its own.", field="input"
                )
            stored = {}
        arguments = filled(changes["input"], stored, unshown) if "input" in changes else dict(stored)
        (made,) = yield from calls(kairos.registry, [Ask(changes.get("action", row["fsm"]), arguments)])
        call = replace(call, action=made.action, version=made.version, step=made.step, state=made.state)
    options = replace(
        call.options, **{field: changes[field] for field in ("priority", "key", "tags") if field in changes}
    )
    if "ttl" in changes:
        options, call = replace(options, ttl=changes["ttl"]), replace(call, ttl=None)
    return replace(call, queue=changes.get("queue", call.queue), options=options)


def _remove(kairos: Kairos, name: str) -> Verb[Schedule]:
    schedule = yield from verbs.get(name, kairos.calendars)
    _refuse_declared(kairos, schedule, "deleted")
    yield from verbs.remove(name)
    return schedule


def _refuse_declared(kairos: Kairos, schedule: Schedule, done: str) -> None:
    """What code declares would be back, or as it was, at the next start of a worker."""
    here = any(each.name == schedule.name for each in kairos.declared)
    if schedule.pause_reason == ORPHANED or not (here or schedule.declared_by is not None):
        return
    whose = f"the code of {schedule.declared_by}" if schedule.declared_by else "code"
    raise Conflict(
        f"Schedule {schedule.name!r} is declared in {whose} and is {done} there; here it can be paused."
    )


def _check_cursor(cursor: str) -> None:
    """The cursor of the list of schedules is a name."""
    try:
        check_name(cursor, "cursor")
    except BadRequest:
        raise _bad_cursor() from None


def _bad_cursor() -> BadCursor:
    return BadCursor("The cursor is none that a list gave out: start again without one.", field="cursor")


def _position(cursor: str | None) -> tuple[datetime | None, int]:
    if cursor is None:
        return None, 0
    instant, _, generation = cursor.partition("~")
    try:
        before = datetime.fromisoformat(instant)
        if before.tzinfo is None or not generation.isdecimal() or len(generation) > 9:
            raise ValueError
        check_instant(before, "cursor")
        return before, int(generation)
    except (ValueError, BadRequest):
        raise _bad_cursor() from None
