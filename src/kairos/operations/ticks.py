"""Operations on the ticks of a schedule: list, trigger, backfill."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice, takewhile

from kairos.errors import BadRequest
from kairos.machine.field_checks import check_instant, check_name, check_range
from kairos.operations.schedules import NONE, read_row, row_of
from kairos.schedule import Plan
from kairos.shapes import read
from kairos.shapes.schedule import Schedule, Tick
from kairos.store import schedule_rows as rows
from kairos.store.array_literals import instants, plain, texts
from kairos.store.query import Notify, Operation, Query
from kairos.store.schedule_rows import Calendars

_MICROSECOND = timedelta(microseconds=1)
_LARGEST_PAGE = 10_000
# One backfill is one statement.
_LARGEST_BACKFILL = 10_000
# Each job has its own copy of the schedule's input: 10,000 jobs of 1 MB would take 10 GB and minutes.
_MOST_BYTES = 64 << 20


def ticks(
    name: str, *, before: datetime | None = None, limit: int = 50, generation: int = 0
) -> Operation[list[Tick]]:
    """Return a page of the decided ticks of a schedule, newest first: those before the position (before, generation).

    For the next page pass the `tick_at` and the `generation` of the last tick. Without `generation`, no tick at
    `before` itself is returned.
    """
    check_name(name, "name")
    check_range(limit, "limit", 1, _LARGEST_PAGE)
    check_range(generation, "generation", 0, 2**31 - 1)
    if before is not None:
        check_instant(before, "before")
    found = yield Query("list_ticks", (name, before, generation, limit))
    return [read(Tick, row) for row in found]


def trigger(name: str, *, actor: str | None = None, request_id: str | None = None) -> Operation[int]:
    """Enqueue a schedule's job now, outside its ticks; return the job's id."""
    row = yield from row_of("trigger_schedule", name, actor, request_id)
    yield Notify(queues=[row["queue"]])
    return int(row["id"])


def backfill(
    name: str,
    start: datetime,
    end: datetime,
    *,
    calendars: Calendars = NONE,
    actor: str | None = None,
    request_id: str | None = None,
) -> Operation[list[int]]:
    """Fire the past ticks in (start, end] that were never decided; return the ids of the new jobs.

    The schedule has no ticks before its own start or after its end.
    """
    check_instant(start, "start")
    check_instant(end, "end")
    if end < start:
        raise BadRequest(f"end is {end.isoformat()}, which is before start.", field="end")
    row = yield from read_row(name)
    schedule = rows.schedule(row, calendars)
    wanted = _past_ticks(schedule, rows.stored_plan(row, calendars), start, min(end, row["now"]))
    if not wanted:
        return []
    _refuse_large(name, wanted, len(row["state"].encode()))
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
    )
    yield Notify(queues=[schedule.queue])
    return [row["job_id"] for row in found]


def _past_ticks(schedule: Schedule, plan: Plan, after: datetime, until: datetime) -> list[datetime]:
    if schedule.start is not None and schedule.start > after:
        after = schedule.start - _MICROSECOND
    if schedule.end is not None:
        until = min(until, schedule.end)
    coming = takewhile(lambda tick: tick <= until, plan.iterate(after))
    found = list(islice(coming, _LARGEST_BACKFILL + 1))
    if len(found) > _LARGEST_BACKFILL:
        raise BadRequest(
            f"There are more than {_LARGEST_BACKFILL:,} ticks of {schedule.name!r} in this range: "
            f"backfill it in parts, the first one up to {found[-2].isoformat()}.",
            field="end",
        )
    return found


def _refuse_large(name: str, wanted: list[datetime], size: int) -> None:
    most = max(1, _MOST_BYTES // max(1, size))
    if len(wanted) > most:
        raise BadRequest(
            f"The input of {name!r} has {size:,} bytes, so that at most {most:,} of these {len(wanted):,} ticks "
            f"are fired at once: backfill it in parts, the first one up to {wanted[most - 1].isoformat()}.",
            field="end",
        )
