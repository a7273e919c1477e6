"""Operations on schedules: parse an intent, save, edit, list, pause, resume, remove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kairos import json_codec
from kairos.durations import duration
from kairos.errors import BadRequest, Conflict
from kairos.machine.backoff import read_policy, write_policy
from kairos.machine.call import Call, Options
from kairos.machine.field_checks import check_instant, check_name, check_range
from kairos.operations.schedule_options import ScheduleOptions, check_call
from kairos.schedule import IntentError, Plan, when
from kairos.shapes.schedule import Schedule
from kairos.store import schedule_rows as rows
from kairos.store.array_literals import texts
from kairos.store.query import Operation, Query, Row, required_row
from kairos.store.schedule_rows import Calendars

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_PAGE = 10_000
NONE: Calendars = {}


def intent(
    text: str, tz: str = "UTC", now: datetime | None = None, *, limit: int = 10, calendars: Calendars = NONE
) -> Operation[tuple[Plan, list[datetime]]]:
    """Parse an intent; return its plan and its next instants after `now`, by default the database's time."""
    _check_words(text, "when")
    check_name(tz, "tz")
    if now is None:
        now = (yield Query("read_now"))[0]["now"]
    else:
        check_instant(now, "now")
    try:
        plan = when(text, now=now, tz=tz, calendars=calendars)
        return plan, plan.ticks(after=now, limit=limit)
    except OverflowError as error:
        raise BadRequest(
            f"now is {now.isoformat()}, too close to the end of the calendar: choose another.",
            field="now",
        ) from error


def check_intent(intent: str, tz: str, calendars: Calendars = NONE) -> None:
    """Refuse an intent that does not parse; one that only lies in the past is accepted."""
    _check_words(intent, "when")
    try:
        when(intent, tz=tz, calendars=calendars)
    except IntentError as refusal:
        try:
            when(intent, now=_EPOCH, tz=tz, calendars=calendars)
        except IntentError:
            raise refusal from None


def save(
    name: str,
    intent: str,
    call: Call,
    options: ScheduleOptions,
    declared_by: str | None = None,
    *,
    calendars: Calendars = NONE,
    generation: int | None = None,
) -> Operation[Schedule]:
    """Create or edit a schedule; saving the same values again changes nothing, even after its end.

    With `generation`, the schedule is saved only if it still has that generation; 0: only if it does not exist.
    """
    check_name(name, "name")
    _check_words(intent, "when")
    check_call(call)
    given = _given(name, intent, call, options)
    retry = write_policy(call.options.retry)
    if generation == 0 or not (yield Query("match_schedule", (*given, retry))):
        now = (yield Query("read_now"))[0]["now"]
        plan = when(intent, now=now, tz=options.tz, calendars=calendars)
        after = now if options.start is None or options.start < now else options.start - _MICROSECOND
        first = _first_tick(plan, after, options.end)
        document = json_codec.dumps(plan.to_json(), "when")
        saved = yield Query(
            "save_schedule", (*given, plan.sentence, after, first, declared_by, generation, document, retry)
        )
        if not saved and generation is not None:
            raise Conflict(
                f"There is a schedule {name!r} already: edit it, or choose another name."
                if generation == 0
                else f"Schedule {name!r} was changed by someone else just now: read it and try again."
            )
    return (yield from get(name, calendars))


def edit(
    name: str,
    changes: Mapping[str, Any],
    *,
    when: str | None = None,
    call: Callable[[Row], Operation[Call]] | None = None,
    calendars: Calendars = NONE,
) -> Operation[Schedule]:
    """Change the given options, intent or call of a schedule; the rest stays as it is.

    `call` builds the new call from the stored row.
    """
    row = yield from read_row(name)
    stored = {
        "tz": row["tz"],
        "overlap": row["overlap"],
        "catch_up": row["catch_up"],
        "catch_up_within": row["catch_up_within"],
        "jitter": row["jitter"],
        "start": row["starts_at"],
        "end": row["ends_at"],
        "count": row["count"],
    }
    return (
        yield from save(
            name,
            row["intent"] if when is None else when,
            stored_call(row) if call is None else (yield from call(row)),
            ScheduleOptions.of({**stored, **changes}),
            row["declared_by"],
            calendars=calendars,
            generation=row["generation"],
        )
    )


def stored_call(row: Row) -> Call:
    """Return the call that a schedule enqueues."""
    return Call(
        action=row["fsm"],
        version=row["fsm_version"],
        step=row["step"],
        state=row["state"],
        queue=row["queue"],
        ttl=row["ttl"],
        options=Options(
            priority=row["priority"],
            key=row["partition_key"],
            tags=tuple(row["tags"]),
            retry=read_policy(row["retry"]),
        ),
    )


def _given(name: str, intent: str, call: Call, options: ScheduleOptions) -> tuple[Any, ...]:
    """Return the parameters that `match_schedule` compares and `save_schedule` stores."""
    given, ttl = call.options, call.job_ttl
    return (
        name,
        intent,
        options.tz,
        call.action,
        call.version,
        call.step,
        call.state,
        call.queue,
        given.priority,
        given.key_text,
        None if ttl is None else ttl // _MICROSECOND,
        texts(given.tags),
        options.overlap,
        options.catch_up,
        duration(options.catch_up_within, "catch_up_within") // _MICROSECOND,
        duration(options.jitter, "jitter") // _MICROSECOND,
        options.start,
        options.end,
        options.count,
    )


def get(name: str, calendars: Calendars = NONE) -> Operation[Schedule]:
    """Return one schedule, with its next five ticks."""
    return rows.schedule((yield from read_row(name)), calendars)


def read_row(name: str) -> Operation[Row]:
    """Return the row of one schedule."""
    return (yield from row_of("read_schedule", name))


def row_of(statement: str, name: str, *params: Any) -> Operation[Row]:
    """Run a statement for one schedule and return its row."""
    check_name(name, "name")
    return (yield from required_row(Query(statement, (name, *params)), f"There is no schedule {name!r}."))


def list_all(
    *, after: str | None = None, limit: int | None = None, calendars: Calendars = NONE
) -> Operation[list[Schedule]]:
    """Return schedules by name: all of them, or at most `limit` after a name."""
    if limit is not None:
        check_range(limit, "limit", 1, _LARGEST_PAGE)
    found = yield Query("list_schedules", (after, limit))
    return [rows.schedule(row, calendars) for row in found]


def pause(name: str, reason: str | None = None, *, calendars: Calendars = NONE) -> Operation[Schedule]:
    """Pause a schedule: it does not fire until it is resumed."""
    return (yield from _pause(name, True, reason, calendars))


def resume(name: str, *, calendars: Calendars = NONE) -> Operation[Schedule]:
    """Resume a schedule; the ticks during the pause are recorded as skipped."""
    return (yield from _pause(name, False, None, calendars))


def remove(name: str) -> Operation[None]:
    """Delete a schedule; the jobs it made and the record of its ticks stay."""
    yield from row_of("delete_schedule", name)


def _pause(name: str, paused: bool, reason: str | None, calendars: Calendars) -> Operation[Schedule]:
    if reason is not None:
        _check_words(reason, "reason")
    yield from row_of("pause_schedule", name, paused, reason)
    return (yield from get(name, calendars))


def _first_tick(plan: Plan, after: datetime, end: datetime | None) -> datetime:
    found = plan.ticks(after=after, limit=1)
    if not found or (end is not None and found[0] > end):
        raise BadRequest("This schedule would never fire between its start and its end.", field="when")
    return found[0]


def _check_words(text: Any, field: str) -> None:
    if not isinstance(text, str):
        raise BadRequest(f"{field} is {text!r}; it must be text, such as 'every 5 minutes'.", field=field)
    json_codec.dumps(text, field)
