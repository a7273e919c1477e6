"""What can be asked of a schedule's ticks: those that were, and those that should have been."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice, takewhile

from kairos.errors import BadRequest, NotFound
from kairos.machine.names import check_instant, check_name, check_range
from kairos.schedule import Plan
from kairos.store.columns import instants, plain, texts
from kairos.store.query import Query, Verb
from kairos.store.schedules import Calendars, Schedule, Tick
from kairos.verbs.schedules import NONE, get

_MICROSECOND = timedelta(microseconds=1)
_LARGEST_PAGE = 10_000
# One backfill is one statement.
_LARGEST_BACKFILL = 10_000


def ticks(
    name: str, *, before: datetime | None = None, limit: int = 50, generation: int = 0
) -> Verb[list[Tick]]:
    """What was decided on a schedule's ticks, newest first.

    With `generation`, the ticks at `before` itself that were decided under an older one come too.
    """
    check_name(name, "name")
    check_range(limit, "limit", 1, _LARGEST_PAGE)
    check_range(generation, "generation", 0, 2**31 - 1)
    if before is not None:
        check_instant(before, "before")
    found = yield Query("list_ticks", (name, before, generation, limit))
    return [Tick(**row) for row in found]


def trigger(name: str, *, actor: str | None = None, request_id: str | None = None) -> Verb[int]:
    """Enqueue a schedule's job now, outside its ticks; answers the job's id."""
    check_name(name, "name")
    found = yield Query("trigger_schedule", (name, actor, request_id))
    if not found:
        raise NotFound(f"There is no schedule {name!r}.")
    yield Query("notify_queues", ([found[0]["queue"]],))
    return int(found[0]["id"])


def backfill(
    name: str,
    start: datetime,
    end: datetime,
    *,
    calendars: Calendars = NONE,
    actor: str | None = None,
    request_id: str | None = None,
) -> Verb[list[int]]:
    """Fire the ticks in (start, end] that have passed and were never decided; answers the ids of the jobs made.

    What lies before the schedule's own start or after its end is none of its ticks.
    """
    check_instant(start, "start")
    check_instant(end, "end")
    if end < start:
        raise BadRequest(f"end is {end.isoformat()}, which is before start.", field="end")
    schedule = yield from get(name, calendars)
    now = (yield Query("read_now"))[0]["now"]
    wanted = _ticks_of_the_past(schedule, start, min(end, now), calendars)
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
            actor,
            request_id,
        ),
        pokes=frozenset({schedule.queue}),
    )
    return [row["job_id"] for row in found]


def _ticks_of_the_past(
    schedule: Schedule, after: datetime, until: datetime, calendars: Calendars
) -> list[datetime]:
    if schedule.start is not None and schedule.start > after:
        after = schedule.start - _MICROSECOND
    if schedule.end is not None:
        until = min(until, schedule.end)
    coming = takewhile(lambda tick: tick <= until, Plan.of(schedule.sentence, calendars).iterate(after))
    found = list(islice(coming, _LARGEST_BACKFILL + 1))
    if len(found) > _LARGEST_BACKFILL:
        raise BadRequest(
            f"There are more than {_LARGEST_BACKFILL:,} ticks of {schedule.name!r} in this range: "
            f"backfill it in parts, the first one up to {found[-2].isoformat()}.",
            field="end",
        )
    return found
