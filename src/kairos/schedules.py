"""What can be asked of schedules, and how an app declares them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import BadRequest, NotFound
from kairos.machine.call import Call
from kairos.schedule import Plan, when
from kairos.schedule.policies import CATCH_UPS, OVERLAPS
from kairos.store.columns import instants, plain, texts
from kairos.store.query import Pause, Query, Row, Verb

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it stands; `next_ticks` are the instants it will fire at next."""

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
    starts_at: datetime | None
    ends_at: datetime | None
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
        _one_of(self.overlap, "overlap", OVERLAPS)
        _one_of(self.catch_up, "catch_up", CATCH_UPS)
        duration(self.catch_up_within, "catch_up_within")
        duration(self.jitter, "jitter")
        if self.count is not None and self.count < 1:
            raise BadRequest(f"count is {self.count}; a schedule fires at least once.", field="count")
        for name in ("start", "end"):
            instant = getattr(self, name)
            if instant is not None and instant.tzinfo is None:
                raise BadRequest(
                    f"{name} is {instant!r}; it must be a datetime with a time zone.", field=name
                )


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule written in code."""

    name: str
    intent: str
    call: Callable[[], Call]
    options: ScheduleOptions = field(default_factory=ScheduleOptions)


def save(
    name: str, intent: str, call: Call, options: ScheduleOptions, declared_by: str | None = None
) -> Verb[Schedule]:
    """Make a schedule or edit it; the same words again change nothing."""
    if not name or len(name) > 255:
        raise BadRequest("A schedule needs a name of 1 to 255 characters.", field="name")
    now = (yield Query("read_now"))[0]["now"]
    plan = when(intent, now=now, tz=options.tz)
    first = _first_tick(plan, max(now, options.start - _MICROSECOND) if options.start else now, options.end)
    given = call.options
    ttl = given.ttl_by if given.ttl_by is not None else call.ttl
    yield Query(
        "save_schedule",
        (
            name,
            intent,
            plan.sentence,
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
            now,
            first,
            declared_by,
        ),
    )
    return (yield from get(name))


def get(name: str) -> Verb[Schedule]:
    """One schedule, with its next five ticks."""
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
    found = yield Query("trigger_schedule", (name,))
    if not found:
        raise NotFound(f"There is no schedule {name!r}.")
    yield Query("notify_queues", ([found[0]["queue"]],))
    return int(found[0]["id"])


def backfill(name: str, start: datetime, end: datetime) -> Verb[list[int]]:
    """Fire the ticks in (start, end] that were never decided; answers the ids of the jobs made."""
    schedule = yield from get(name)
    plan = Plan.of(schedule.sentence)
    wanted = plan.between(start, end)
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
        ),
        pokes=frozenset({schedule.queue}),
    )
    return [row["job_id"] for row in found]


def remove(name: str) -> Verb[None]:
    """Delete a schedule; the jobs it made and the record of its ticks stay."""
    if not (yield Query("delete_schedule", (name,))):
        raise NotFound(f"There is no schedule {name!r}.")


def synchronise(app: str, declared: Sequence[Declared]) -> Verb[list[str]]:
    """Bring the database to what the code declares; answers what is paused because it no longer does."""
    for each in declared:
        yield from save(each.name, each.intent, each.call(), each.options, declared_by=app)
    orphans = yield Query("orphan_schedules", (app, texts([each.name for each in declared])))
    return [row["name"] for row in orphans]


class Schedules:
    """`app.schedules`: the verbs of schedules, awaited where the app is async."""

    def __init__(self, run: Callable[[Verb[Any]], Any]) -> None:
        self._run = run

    def add(self, name: str, when: str, call: Call, **options: Any) -> Any:
        """Make a schedule or edit it."""
        return self._run(save(name, when, call, ScheduleOptions(**options)))

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
    if not (yield Query("pause_schedule", (name, paused, reason))):
        raise NotFound(f"There is no schedule {name!r}.")
    return (yield from get(name))


def _schedule(row: Row) -> Schedule:
    plan = Plan.of(row["sentence"])
    after = max(row["now"], row["cursor_at"])
    upcoming = plan.ticks(after=after, limit=5) if row["next_tick_at"] is not None else []
    if row["ticks_left"] is not None:
        upcoming = upcoming[: row["ticks_left"]]
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
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        ticks_left=row["ticks_left"],
        paused_at=row["paused_at"],
        pause_reason=row["pause_reason"],
        declared_by=row["declared_by"],
        generation=row["generation"],
        next_tick_at=row["next_tick_at"],
        next_ticks=tuple(tick for tick in upcoming if row["ends_at"] is None or tick <= row["ends_at"]),
    )


def _first_tick(plan: Plan, after: datetime, end: datetime | None) -> datetime:
    found = plan.ticks(after=after, limit=1)
    if not found or (end is not None and found[0] > end):
        raise BadRequest("This schedule would never fire between its start and its end.", field="when")
    return found[0]


def _one_of(value: str, field: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise BadRequest(f"{field} is {value!r}; it is one of {', '.join(allowed)}.", field=field)
