"""The routes of schedules and their ticks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import serializers
from kairos.api import cursors
from kairos.api.queue_quota import check_queues
from kairos.api.responses import answer, changed, kairos_of, origin_of, page_answer, page_bytes
from kairos.api.restore_redacted import restore_redacted
from kairos.api.schemas import schedules as schemas
from kairos.api.schemas.jobs import JobAnswer
from kairos.app import Kairos
from kairos.errors import BadRequest, Conflict
from kairos.machine.call import Call
from kairos.machine.field_checks import check_instant, check_name
from kairos.operations import schedules as operations
from kairos.operations import ticks as tick_operations
from kairos.operations.declared_schedules import ORPHANED
from kairos.operations.named_calls import NamedCall, calls
from kairos.operations.read_jobs import get
from kairos.operations.schedule_options import ScheduleOptions
from kairos.shapes.job import Job
from kairos.shapes.schedule import Schedule
from kairos.store.query import Operation, Row

router = APIRouter(tags=["schedules"])

_POLICIES = tuple(each.name for each in fields(ScheduleOptions))
_OPTIONS = ("queue", "priority", "key", "ttl", "tags")
_MAY_BE_NULL = frozenset({"start", "end", "count", "key", "ttl"})


@router.get("/api/schedules", response_model=schemas.ScheduleList)
async def list_schedules(
    request: Request,
    cursor: Annotated[str | None, Query(max_length=255)] = None,
    limit: cursors.Limit = 100,
) -> Response:
    """Every schedule, by name."""
    kairos = kairos_of(request)
    if cursor is not None:
        _check_cursor(cursor)

    async def read(after: str | None, wanted: int) -> Sequence[Schedule]:
        return await kairos.run(operations.list_all(after=after, limit=wanted, calendars=kairos.calendars))

    schedules, more = await cursors.pages_within(
        read,
        lambda schedule: serializers.schedule(schedule, kairos.registry),
        lambda schedule: schedule.name,
        after=cursor,
        limit=limit,
        most=page_bytes(request),
    )
    return answer(request, {"schedules": schedules, "nextCursor": more})


@router.post("/api/schedules", response_model=schemas.ScheduleAnswer, status_code=201)
async def add_schedule(request: Request, body: schemas.ScheduleWanted) -> Response:
    """Create a schedule; a name that is taken is a conflict."""
    kairos = kairos_of(request)
    options = {name: value for name in _OPTIONS if (value := getattr(body, name)) is not None}
    request.state.audit = {"schedule": body.name}
    await check_queues(request, body.queue)
    return await _answer(request, _add(kairos, body, options), 201)


@router.get("/api/schedules/{name}", response_model=schemas.ScheduleAnswer)
async def read_schedule(request: Request, name: str) -> Response:
    """One schedule, with its next five ticks."""
    return await _answer(request, operations.get(name, kairos_of(request).calendars))


@router.patch("/api/schedules/{name}", response_model=schemas.ScheduleAnswer)
async def edit_schedule(request: Request, name: str, body: schemas.ScheduleChange) -> Response:
    """Change a schedule's intent, policies, input or options; its later ticks belong to a new generation."""
    kairos = kairos_of(request)
    changes = {field: getattr(body, field) for field in body.model_fields_set}
    request.state.audit = changed(body)
    for field, value in changes.items():
        if value is None and field not in _MAY_BE_NULL:
            raise BadRequest(f"{field} cannot be null: leave it out to keep it.", field=field)
    await check_queues(request, changes.get("queue"))
    return await _answer(request, _edit(kairos, name, changes))


@router.delete("/api/schedules/{name}", response_model=schemas.ScheduleAnswer)
async def delete_schedule(request: Request, name: str) -> Response:
    """Delete a schedule and answer it as it was; its jobs and the record of its ticks stay."""
    return await _answer(request, _remove(kairos_of(request), name))


@router.post("/api/schedules/{name}/pause", response_model=schemas.ScheduleAnswer)
async def pause_schedule(request: Request, name: str, body: schemas.PauseWanted | None = None) -> Response:
    """Pause a schedule until it is resumed."""
    reason = None if body is None else body.reason
    return await _answer(request, operations.pause(name, reason, calendars=kairos_of(request).calendars))


@router.post("/api/schedules/{name}/resume", response_model=schemas.ScheduleAnswer)
async def resume_schedule(request: Request, name: str) -> Response:
    """Resume a schedule; the ticks during the pause are recorded as skipped."""
    return await _answer(request, operations.resume(name, calendars=kairos_of(request).calendars))


@router.post("/api/schedules/{name}/trigger", response_model=JobAnswer, status_code=202)
async def trigger_schedule(request: Request, name: str) -> Response:
    """Enqueue a schedule's job now, outside its ticks."""
    kairos = kairos_of(request)

    def work() -> Operation[Job]:
        return (yield from get((yield from tick_operations.trigger(name, **origin_of(request)))))

    # In one transaction: a job that was made is answered, and one that cannot be answered was not made.
    job = await kairos.transact(work)
    return answer(request, {"job": serializers.job(job, kairos.registry)}, 202)


@router.post("/api/schedules/{name}/backfill", response_model=schemas.Backfilled, status_code=202)
async def backfill_schedule(request: Request, name: str, body: schemas.BackfillWanted) -> Response:
    """Fire the ticks of a past range that were never decided, at most 10,000 at once."""
    kairos = kairos_of(request)
    backfill = tick_operations.backfill(
        name, body.start, body.end, calendars=kairos.calendars, **origin_of(request)
    )
    jobs = await kairos.run(backfill)
    return answer(request, {"jobs": [{"id": each} for each in jobs]}, 202)


@router.get("/api/schedules/{name}/ticks", response_model=schemas.TickList)
async def list_ticks(
    request: Request,
    name: str,
    cursor: cursors.Before = None,
    limit: cursors.Limit = 100,
) -> Response:
    """List the decided ticks of a schedule, newest first, also after the schedule was deleted."""
    kairos = kairos_of(request)
    before, generation = _position(cursor)
    found = await kairos.run(tick_operations.ticks(name, before=before, generation=generation, limit=limit))
    if not found:
        await kairos.run(operations.read_row(name))  # a name that never was one is not found
    last = found[-1] if len(found) == limit else None
    more = None if last is None else f"{last.tick_at.isoformat()}~{last.generation}"
    return page_answer(request, "ticks", found, more)


async def _answer(request: Request, operation: Operation[Schedule], status: int = 200) -> Response:
    """Run an operation and answer the schedule that it returns."""
    kairos = kairos_of(request)
    schedule = await kairos.run(operation)
    return answer(request, {"schedule": serializers.schedule(schedule, kairos.registry)}, status)


def _add(kairos: Kairos, body: schemas.ScheduleWanted, options: Mapping[str, Any]) -> Operation[Schedule]:
    (call,) = yield from calls(kairos.registry, [NamedCall(body.action, body.input, options)])
    policies = ScheduleOptions.of({name: getattr(body, name) for name in _POLICIES})
    return (
        yield from operations.save(
            body.name, body.when, call, policies, calendars=kairos.calendars, generation=0
        )
    )


def _edit(kairos: Kairos, name: str, changes: Mapping[str, Any]) -> Operation[Schedule]:
    _refuse_declared(kairos, (yield from operations.get(name)), "changed")

    def call(row: Row) -> Operation[Call]:
        return (yield from _changed_call(kairos, row, changes))

    return (
        yield from operations.edit(
            name,
            {field: value for field, value in changes.items() if field in _POLICIES},
            when=changes.get("when"),
            call=call,
            calendars=kairos.calendars,
        )
    )


def _changed_call(kairos: Kairos, row: Row, changes: Mapping[str, Any]) -> Operation[Call]:
    """Return the new call of a schedule; new arguments are validated, stored ones are not validated again."""
    call = operations.stored_call(row)
    if "action" in changes or "input" in changes:
        redacted = serializers.redacted_by_action(row["fsm"], row["redact"] or (), kairos.registry)
        stored = json.loads(row["state"])
        if changes.get("action", row["fsm"]) != row["fsm"] and serializers.redact(stored, redacted) != stored:
            # Another action may redact less: redacted values are not carried over to it.
            if "input" not in changes:
                raise BadRequest(
                    "The stored input has redacted values, which another action does not get: give an input.",
                    field="input",
                )
            stored = {}
        arguments = (
            restore_redacted(changes["input"], stored, redacted) if "input" in changes else dict(stored)
        )
        (made,) = yield from calls(kairos.registry, [NamedCall(changes.get("action", row["fsm"]), arguments)])
        call = replace(call, action=made.action, version=made.version, step=made.step, state=made.state)
    options = replace(
        call.options, **{field: changes[field] for field in ("priority", "key", "tags") if field in changes}
    )
    if "ttl" in changes:
        options, call = replace(options, ttl=changes["ttl"]), replace(call, ttl=None)
    return replace(call, queue=changes.get("queue", call.queue), options=options)


def _remove(kairos: Kairos, name: str) -> Operation[Schedule]:
    schedule = yield from operations.get(name, kairos.calendars)
    _refuse_declared(kairos, schedule, "deleted")
    yield from operations.remove(name)
    return schedule


def _refuse_declared(kairos: Kairos, schedule: Schedule, done: str) -> None:
    """Refuse to change a schedule that code declares: the next worker that starts would restore it."""
    here = any(each.name == schedule.name for each in kairos.declared)
    if schedule.pause_reason == ORPHANED or not (here or schedule.declared_by is not None):
        return
    whose = f"the code of {schedule.declared_by}" if schedule.declared_by else "code"
    raise Conflict(
        f"Schedule {schedule.name!r} is declared in {whose} and is {done} there; here it can be paused."
    )


def _check_cursor(cursor: str) -> None:
    """Check the cursor of the list of schedules, which is a name."""
    try:
        check_name(cursor, "cursor")
    except BadRequest:
        raise cursors.bad_cursor() from None


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
        raise cursors.bad_cursor() from None
