"""What can be asked of schedules, and how an app declares them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any

import structlog

from kairos import codec
from kairos.durations import Duration, duration
from kairos.errors import BadRequest, NotFound
from kairos.machine.call import Call
from kairos.machine.names import check_instant, check_name, check_range
from kairos.schedule import IntentError, Plan, when
from kairos.schedule.policies import CATCH_UPS, OVERLAPS
from kairos.store.columns import instants, plain, texts
from kairos.store.query import Pause, Query, Row, Verb

log = structlog.get_logger("kairos")

# As orphan_schedules and adopt_schedules have it: declaring it again lets it go on.
ORPHANED = "no longer declared in code"
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_COUNT = 2**31 - 1
_LARGEST_PAGE = 10_000
# One backfill is one statement.
_LARGEST_BACKFILL = 10_000


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it stands; `next_ticks` are the instants it will fire at next.

    They are empty at its end, and where this code cannot read the sentence.
    """

    name: str
    when: str
    sentence: str
    tz: str
    action: str
    input: Any
    queue: str
    overlap: str
    catch_up: str
    catch_up_within: timedelta
    jitter: timedelta
    start: datetime | None
    end: datetime | None
    count: int | None
    ticks_left: int | None
    paused_at: datetime | None
    pause_reason: str | None
    declared_by: str | None
    generation: int
    next_tick_at: datetime | None
    next_ticks: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """What was decided on one tick: the job it made, or the reason why it made none."""

    schedule: str
    generation: int
    tick_at: datetime
    job_id: int | None
    reason: str | None
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """The policies of a schedule."""

    tz: str = "UTC"
    overlap: str = "allow"
    catch_up: str = "last"
    catch_up_within: Duration = "1d"
    jitter: Duration = 0
    start: datetime | None = None
    end: datetime | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        check_name(self.tz, "tz")
        _one_of(self.overlap, "overlap", OVERLAPS)
        _one_of(self.catch_up, "catch_up", CATCH_UPS)
        duration(self.catch_up_within, "catch_up_within")
        duration(self.jitter, "jitter")
        if self.count is not None:
            check_range(self.count, "count", 1, _LARGEST_COUNT)
        for name in ("start", "end"):
            if (instant := getattr(self, name)) is not None:
                check_instant(instant, name)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ScheduleOptions:
        """The policies by their names; a name that is none is refused."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise BadRequest(f"A schedule has no option {name!r}; it has {', '.join(known)}.", field=name)
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule written in code."""

    name: str
    intent: str
    call: Callable[[], Call]
    options: ScheduleOptions = field(default_factory=ScheduleOptions)


def check_intent(intent: str, tz: str) -> None:
    """Refuse what can never be understood; what merely lies in the past by now was right once."""
    _check_words(intent, "when")
    try:
        when(intent, tz=tz)
    except IntentError as refusal:
        try:
            when(intent, now=_EPOCH, tz=tz)
        except IntentError:
            raise refusal from None


def save(
    name: str, intent: str, call: Call, options: ScheduleOptions, declared_by: str | None = None
) -> Verb[Schedule]:
    """Make a schedule or edit it; the same words again change nothing, also once its end has come."""
    check_name(name, "name")
    _check_words(intent, "when")
    given = _given(name, intent, call, options)
    if not (yield Query("match_schedule", given)):
        now = (yield Query("read_now"))[0]["now"]
        plan = when(intent, now=now, tz=options.tz)
        after = now if options.start is None or options.start < now else options.start - _MICROSECOND
        first = _first_tick(plan, after, options.end)
        yield Query("save_schedule", (*given, plan.sentence, after, first, declared_by))
    return (yield from get(name))


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


def get(name: str) -> Verb[Schedule]:
    """One schedule, with its next five ticks."""
    check_name(name, "name")
    found = yield Query("list_schedules", (name,))
    if not found:
        raise NotFound(f"There is no schedule {name!r}.")
    return _schedule(found[0])


def list_all() -> Verb[list[Schedule]]:
    """Every schedule."""
    found = yield Query("list_schedules", (None,))
    return [_schedule(row) for row in found]


def ticks(name: str, *, before: datetime | None = None, limit: int = 50) -> Verb[list[Tick]]:
    """What was decided on a schedule's ticks, newest first."""
    check_name(name, "name")
    check_range(limit, "limit", 1, _LARGEST_PAGE)
    if before is not None:
        check_instant(before, "before")
    found = yield Query("list_ticks", (name, before, limit))
    return [Tick(**row) for row in found]


def pause(name: str, reason: str | None = None) -> Verb[Schedule]:
    """Let a schedule fire no more until it is resumed."""
    return (yield from _pause(name, True, reason))


def resume(name: str) -> Verb[Schedule]:
    """Let a schedule fire again; the ticks that fell into the pause are recorded as skipped."""
    return (yield from _pause(name, False, None))


def trigger(name: str) -> Verb[int]:
    """Enqueue a schedule's job now, outside its ticks; answers the job's id."""
    check_name(name, "name")
    found = yield Query("trigger_schedule", (name,))
    if not found:
        raise NotFound(f"There is no schedule {name!r}.")
    yield Query("notify_queues", ([found[0]["queue"]],))
    return int(found[0]["id"])


def backfill(name: str, start: datetime, end: datetime) -> Verb[list[int]]:
    """Fire the ticks in (start, end] that have passed and were never decided; answers the ids of the jobs made.

    What lies before the schedule's own start or after its end is none of its ticks.
    """
    check_instant(start, "start")
    check_instant(end, "end")
    if end < start:
        raise BadRequest(f"end is {end.isoformat()}, which is before start.", field="end")
    schedule = yield from get(name)
    now = (yield Query("read_now"))[0]["now"]
    wanted = _ticks_of_the_past(schedule, start, min(end, now))
    if not wanted:
        return []
    found = yield Query(
        "fire_ticks",
        (
            texts([name] * len(wanted)),
            plain([schedule.generation] * len(wanted)),
            instants(wanted),
            None,
            None,
            True,
        ),
        pokes=frozenset({schedule.queue}),
    )
    return [row["job_id"] for row in found]


def _ticks_of_the_past(schedule: Schedule, after: datetime, until: datetime) -> list[datetime]:
    if schedule.start is not None and schedule.start > after:
        after = schedule.start - _MICROSECOND
    if schedule.end is not None:
        until = min(until, schedule.end)
    coming = takewhile(lambda tick: tick <= until, Plan.of(schedule.sentence).iterate(after))
    found = list(islice(coming, _LARGEST_BACKFILL + 1))
    if len(found) > _LARGEST_BACKFILL:
        raise BadRequest(
            f"There are more than {_LARGEST_BACKFILL:,} ticks of {schedule.name!r} in this range: "
            f"backfill it in parts, the first one up to {found[-2].isoformat()}.",
            field="end",
        )
    return found


def remove(name: str) -> Verb[None]:
    """Delete a schedule; the jobs it made and the record of its ticks stay."""
    check_name(name, "name")
    if not (yield Query("delete_schedule", (name,))):
        raise NotFound(f"There is no schedule {name!r}.")


def synchronise(app: str | None, declared: Sequence[Declared]) -> Verb[list[str]]:
    """Bring the database to what the code declares; answers what is paused because it no longer does.

    Only an app with a name, and with schedules, knows which of them were its own: see `Settings.name`.
    """
    stored = []
    for each in declared:
        try:
            yield from save(each.name, each.intent, each.call(), each.options, declared_by=app)
            stored.append(each.name)
        except BadRequest as refusal:
            # It was understood when it was declared: what is refused now lies in the past, and jobs must go on.
            log.error(
                "a declared schedule was not stored",
                schedule=each.name,
                when=each.intent,
                error=refusal.message,
            )
            yield from _retire(each.name)
    if not declared:
        return []
    yield Query("adopt_schedules", (app, texts(stored)))
    if app is None:
        return []
    orphans = yield Query("orphan_schedules", (app, texts([each.name for each in declared])))
    return [row["name"] for row in orphans]


def _retire(name: str) -> Verb[None]:
    """Stop what is stored under a name whose declaration was refused: those words are no longer in the code."""
    for row in (yield Query("list_schedules", (name,))):
        if row["paused_at"] is None and row["next_tick_at"] is not None:
            yield Query("pause_schedule", (name, True, ORPHANED))


class Schedules:
    """`app.schedules`: the verbs of schedules, awaited where the app is async."""

    def __init__(self, run: Callable[[Verb[Any]], Any]) -> None:
        self._run = run

    def add(self, name: str, when: str, call: Call, **options: Any) -> Any:
        """Make a schedule or edit it."""
        return self._run(save(name, when, call, ScheduleOptions.of(options)))

    def get(self, name: str) -> Any:
        """One schedule, with its next five ticks."""
        return self._run(get(name))

    def list(self) -> Any:
        """Every schedule."""
        return self._run(list_all())

    def ticks(self, name: str, **page: Any) -> Any:
        """What was decided on a schedule's ticks, newest first."""
        return self._run(ticks(name, **page))

    def pause(self, name: str, reason: str | None = None) -> Any:
        """Let a schedule fire no more until it is resumed."""
        return self._run(pause(name, reason))

    def resume(self, name: str) -> Any:
        """Let a schedule fire again."""
        return self._run(resume(name))

    def trigger(self, name: str) -> Any:
        """Enqueue a schedule's job now, outside its ticks."""
        return self._run(trigger(name))

    def backfill(self, name: str, start: datetime, end: datetime) -> Any:
        """Fire the ticks in (start, end] that were never decided."""
        return self._run(backfill(name, start, end))

    def remove(self, name: str) -> Any:
        """Delete a schedule; its jobs and ticks stay."""
        return self._run(remove(name))


def _pause(name: str, paused: bool, reason: str | None) -> Generator[Query | Pause, Sequence[Row], Schedule]:
    check_name(name, "name")
    if reason is not None:
        _check_words(reason, "reason")
    if not (yield Query("pause_schedule", (name, paused, reason))):
        raise NotFound(f"There is no schedule {name!r}.")
    return (yield from get(name))


def _schedule(row: Row) -> Schedule:
    return Schedule(
        name=row["name"],
        when=row["intent"],
        sentence=row["sentence"],
        tz=row["tz"],
        action=row["fsm"],
        input=json.loads(row["state"]),
        queue=row["queue"],
        overlap=row["overlap"],
        catch_up=row["catch_up"],
        catch_up_within=row["catch_up_within"],
        jitter=row["jitter"],
        start=row["starts_at"],
        end=row["ends_at"],
        count=row["count"],
        ticks_left=row["ticks_left"],
        paused_at=row["paused_at"],
        pause_reason=row["pause_reason"],
        declared_by=row["declared_by"],
        generation=row["generation"],
        next_tick_at=row["next_tick_at"],
        next_ticks=_next_ticks(row),
    )


def _next_ticks(row: Row) -> tuple[datetime, ...]:
    if row["next_tick_at"] is None:
        return ()
    try:
        plan = Plan.of(row["sentence"])
    except IntentError:  # the ticker says so, and pauses it
        return ()
    limit = 5 if row["ticks_left"] is None else min(row["ticks_left"], 5)
    coming = plan.ticks(after=max(row["now"], row["cursor_at"]), limit=limit)
    return tuple(tick for tick in coming if row["ends_at"] is None or tick <= row["ends_at"])


def _first_tick(plan: Plan, after: datetime, end: datetime | None) -> datetime:
    found = plan.ticks(after=after, limit=1)
    if not found or (end is not None and found[0] > end):
        raise BadRequest("This schedule would never fire between its start and its end.", field="when")
    return found[0]


def _one_of(value: str, field: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise BadRequest(f"{field} is {value!r}; it is one of {', '.join(allowed)}.", field=field)


def _check_words(text: Any, field: str) -> None:
    if not isinstance(text, str):
        raise BadRequest(f"{field} is {text!r}; it must be text.", field=field)
    codec.dumps(text, field)
