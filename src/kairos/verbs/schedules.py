"""What can be asked of schedules."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kairos import codec
from kairos.durations import duration
from kairos.errors import BadRequest, Conflict, NotFound
from kairos.machine.call import Call, Options
from kairos.machine.names import check_instant, check_name, check_range
from kairos.schedule import IntentError, Plan, when
from kairos.store import schedules as rows
from kairos.store.columns import texts
from kairos.store.query import Pause, Query, Row, Verb
from kairos.store.schedules import Calendars, Schedule
from kairos.verbs.schedule_options import ScheduleOptions, check_call

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_PAGE = 10_000
NONE: Calendars = {}


def intent(
    text: str, tz: str = "UTC", now: datetime | None = None, *, limit: int = 10, calendars: Calendars = NONE
) -> Verb[tuple[Plan, list[datetime]]]:
    """What a text means, and its next instants, by the only clock."""
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
            f"now is {now.isoformat()}, from where this leads out of the calendar: choose another.",
            field="now",
        ) from error


def check_intent(intent: str, tz: str, calendars: Calendars = NONE) -> None:
    """Refuse what can never be understood; what merely lies in the past by now was right once."""
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
) -> Verb[Schedule]:
    """Make a schedule or edit it; the same words again change nothing, also once its end has come.

    With `generation` it is edited only if nobody else did so since: 0 means that there was none.
    """
    check_name(name, "name")
    _check_words(intent, "when")
    check_call(call)
    given = _given(name, intent, call, options)
    if generation == 0 or not (yield Query("match_schedule", given)):
        now = (yield Query("read_now"))[0]["now"]
        plan = when(intent, now=now, tz=options.tz, calendars=calendars)
        after = now if options.start is None or options.start < now else options.start - _MICROSECOND
        first = _first_tick(plan, after, options.end)
        saved = yield Query("save_schedule", (*given, plan.sentence, after, first, declared_by, generation))
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
    call: Callable[[Row], Verb[Call]] | None = None,
    calendars: Calendars = NONE,
) -> Verb[Schedule]:
    """Change what is named of a schedule: its words, its policies, its call. The rest stays as it is.

    `call` makes the new call from the row as it is stored.
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
    """What a schedule runs, as it was given."""
    return Call(
        action=row["fsm"],
        version=row["fsm_version"],
        step=row["step"],
        state=row["state"],
        queue=row["queue"],
        ttl=row["ttl"],
        options=Options(priority=row["priority"], key=row["partition_key"], tags=tuple(row["tags"])),
    )


def _given(name: str, intent: str, call: Call, options: ScheduleOptions) -> tuple[Any, ...]:
    """What was asked for, as it is stored and compared."""
    given = call.options
    ttl = given.ttl_by if given.ttl_by is not None else call.ttl
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
        given.key,
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


def get(name: str, calendars: Calendars = NONE) -> Verb[Schedule]:
    """One schedule, with its next five ticks."""
    return rows.schedule((yield from read_row(name)), calendars)


def read_row(name: str) -> Verb[Row]:
    """One schedule as it is stored."""
    check_name(name, "name")
    found = yield Query("read_schedule", (name,))
    if not found:
        raise NotFound(f"There is no schedule {name!r}.")
    return found[0]


def list_all(
    *, after: str | None = None, limit: int | None = None, calendars: Calendars = NONE
) -> Verb[list[Schedule]]:
    """Schedules by name: all of them, or at most `limit` after a name."""
    if limit is not None:
        check_range(limit, "limit", 1, _LARGEST_PAGE)
    found = yield Query("list_schedules", (after, limit))
    return [rows.schedule(row, calendars) for row in found]


def pause(name: str, reason: str | None = None, *, calendars: Calendars = NONE) -> Verb[Schedule]:
    """Let a schedule fire no more until it is resumed."""
    return (yield from _pause(name, True, reason, calendars))


def resume(name: str, *, calendars: Calendars = NONE) -> Verb[Schedule]:
    """Let a schedule fire again; the ticks that fell into the pause are recorded as skipped."""
    return (yield from _pause(name, False, None, calendars))


def remove(name: str) -> Verb[None]:
    """Delete a schedule; the jobs it made and the record of its ticks stay."""
    check_name(name, "name")
    if not (yield Query("delete_schedule", (name,))):
        raise NotFound(f"There is no schedule {name!r}.")


def _pause(
    name: str, paused: bool, reason: str | None, calendars: Calendars
) -> Generator[Query | Pause, Sequence[Row], Schedule]:
    check_name(name, "name")
    if reason is not None:
        _check_words(reason, "reason")
    if not (yield Query("pause_schedule", (name, paused, reason))):
        raise NotFound(f"There is no schedule {name!r}.")
    return (yield from get(name, calendars))


def _first_tick(plan: Plan, after: datetime, end: datetime | None) -> datetime:
    found = plan.ticks(after=after, limit=1)
    if not found or (end is not None and found[0] > end):
        raise BadRequest("This schedule would never fire between its start and its end.", field="when")
    return found[0]


def _check_words(text: Any, field: str) -> None:
    if not isinstance(text, str):
        raise BadRequest(f"{field} is {text!r}; it must be text.", field=field)
    codec.dumps(text, field)
