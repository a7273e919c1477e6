"""Statistics: read from the counters that `worker/stats_counter.py` keeps, never by counting ended jobs or history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta

from kairos import histogram
from kairos.errors import BadRequest
from kairos.fsm.lifecycle import LIVE, TERMINAL, JobState
from kairos.machine.field_checks import check_given_names, check_instant, check_range
from kairos.operations.queues_and_workers import queues
from kairos.shapes.queue import Queue
from kairos.store.query import Operation, Query, Row

MOST_POINTS = 1500
# The counters are not split by schedule: a schedule's series is counted from at most this many of its newest jobs.
_SCHEDULE_JOBS = 10_000
MINUTES_KEPT = timedelta(days=7)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Slot:
    """The counts of one time slot; `waits` and `runs` are counts by bucket of `kairos.histogram`."""

    at: datetime
    action: str | None = None
    accepted: int = 0
    started: int = 0
    success: int = 0
    failed: int = 0
    expired: int = 0
    cancelled: int = 0
    retried: int = 0
    waits: Mapping[int, int] = field(default_factory=dict)
    runs: Mapping[int, int] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        return sum(getattr(self, state) for state in TERMINAL)


# The names of the counts, which are also the columns of the statements that read them.
COUNTS = tuple(each.name for each in fields(Slot) if each.default == 0)


@dataclass(slots=True)
class Total:
    """All counts since the beginning of one action in one queue."""

    action: str
    queue: str
    counts: Mapping[str, int]
    waits: Mapping[int, int]
    runs: Mapping[int, int]


@dataclass(slots=True)
class Stats:
    """The overview. `states` counts the jobs that exist; those in `at_least` may have more than counted.

    `counted_at` is None if every event is counted, else the time of the oldest event that is not.
    """

    now: datetime
    counted_at: datetime | None
    states: Mapping[str, int]
    at_least: tuple[str, ...]
    queues: list[Queue]
    seconds: float
    window: Slot
    actions: list[Slot]
    totals: list[Total]
    workers: int
    alarms: int
    upcoming: list[tuple[str, datetime]]


def stats(window: int = _HOUR) -> Operation[Stats]:
    """Return the jobs by state, and the counts of the last `window` seconds, rounded to a whole minute."""
    check_range(window, "window", _MINUTE, _DAY)
    overview = (yield Query("read_overview"))[0]
    now: datetime = overview["now"]
    live = [queue for queue in (yield from queues()) if any(getattr(queue, state) for state in LIVE)]
    totals = [_total(row) for row in (yield Query("read_stats_totals"))]
    forgotten = {row["state"]: row["jobs"] for row in (yield Query("count_purged_jobs"))}
    since = _floor(now - timedelta(seconds=window), _MINUTE)
    rows = yield Query("read_stats", (_MINUTE, since, now, window + _MINUTE, None, None, True))
    actions = [_slot(row, since) for row in rows]
    states = dict.fromkeys(map(str, JobState), 0)
    for state in LIVE:
        states[state] = sum(getattr(queue, state) for queue in live)
    for state in TERMINAL:
        states[state] = max(0, sum(total.counts[state] for total in totals) - forgotten.get(state, 0))
    return Stats(
        now=now,
        counted_at=overview["counted_at"],
        states=states,
        at_least=tuple(state for state in LIVE if any(state in queue.at_least for queue in live)),
        queues=live,
        seconds=(now - since).total_seconds(),
        window=_sum(actions, since),
        actions=sorted(actions, key=lambda slot: (-slot.ended, slot.action or "")),
        totals=totals,
        workers=overview["workers"],
        alarms=overview["alarms"],
        upcoming=[(name, datetime.fromisoformat(at)) for name, at in json.loads(overview["next"])],
    )


def series(
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    step: int = _MINUTE,
    action: str | None = None,
    queue: str | None = None,
    schedule: str | None = None,
) -> Operation[list[Slot]]:
    """Return the counts from `start` until before `end` in slots of `step` seconds, including empty slots.

    Slots begin at multiples of `step` since 1970 in UTC; `start` is rounded down and `end` up to one. By default the
    series has the last sixty slots.
    """
    check_range(step, "step", _MINUTE, _DAY)
    if step % _MINUTE or _DAY % step:
        raise BadRequest(
            f"step is {step}; it must be whole minutes that divide a day, in seconds.", field="step"
        )
    check_given_names(action=action, queue=queue, schedule=schedule)
    for name, moment in (("from", start), ("to", end)):
        if moment is not None:
            check_instant(moment, name)
    now: datetime = (yield Query("read_now"))[0]["now"]
    try:
        until = _ceiling(end or now, step)
        since = _floor(start, step) if start is not None else until - timedelta(seconds=60 * step)
    except OverflowError as error:
        raise BadRequest("from and to reach beyond the calendar: stay within it.", field="from") from error
    points = int((until - since).total_seconds()) // step
    if points <= 0:
        raise BadRequest("from is not before to: there is nothing between them.", field="from")
    if points > MOST_POINTS:
        raise BadRequest(
            f"That is {points} points; {MOST_POINTS} are the most: take a larger step.", field="step"
        )
    grain = _MINUTE if step % _HOUR else _HOUR
    if grain == _MINUTE and since < now - MINUTES_KEPT - timedelta(minutes=1):
        raise BadRequest(
            "Minutes are kept for 7 days: go back less far, or use step=3600 or more.", field="from"
        )
    if schedule is None:
        rows = yield Query("read_stats", (grain, since, until, step, action, queue, False))
    else:
        rows = yield Query(
            "read_schedule_stats", (schedule, since, until, step, action, queue, _SCHEDULE_JOBS)
        )
    found = {row["place"]: row for row in rows}
    slots = []
    for place in range(points):
        at = since + timedelta(seconds=place * step)
        slots.append(_slot(found[place], at) if place in found else Slot(at))
    return slots


def _slot(row: Row, at: datetime) -> Slot:
    counts = {name: row[name] for name in COUNTS}
    return Slot(at, row["action"], **counts, waits=_buckets(row["waits"]), runs=_buckets(row["runs"]))


def _total(row: Row) -> Total:
    counts = {name: row[name] for name in COUNTS}
    return Total(row["fsm"], row["queue"], counts, _buckets(row["waits"]), _buckets(row["runs"]))


def _sum(slots: list[Slot], at: datetime) -> Slot:
    counts = {name: sum(getattr(slot, name) for slot in slots) for name in COUNTS}
    return Slot(
        at,
        None,
        **counts,
        waits=histogram.merged(slot.waits for slot in slots),
        runs=histogram.merged(slot.runs for slot in slots),
    )


def _buckets(text: str) -> dict[int, int]:
    return {int(bucket): count for bucket, count in json.loads(text).items()}


def _floor(at: datetime, step: int) -> datetime:
    return at - (at - _EPOCH) % timedelta(seconds=step)


def _ceiling(at: datetime, step: int) -> datetime:
    return at + (_EPOCH - at) % timedelta(seconds=step)
