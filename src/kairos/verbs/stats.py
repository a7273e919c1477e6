"""What happened lately and how things stand: read from the tally, never by counting ended jobs or history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from kairos import histogram
from kairos.errors import BadRequest
from kairos.fsm.lifecycle import TERMINAL, JobState
from kairos.machine.names import check_instant, check_name, check_range
from kairos.store.query import Query, Row, Verb
from kairos.store.rows import Queue
from kairos.verbs.queue import queues

MOST_POINTS = 1500
MINUTES_KEPT = timedelta(days=7)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_ENDS = tuple(str(state) for state in JobState if state in TERMINAL)
_LIVE = tuple(str(state) for state in JobState if state not in TERMINAL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Slot:
    """What happened in a stretch of time; `waits` and `runs` are counts by bucket of `kairos.histogram`."""

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
        return self.success + self.failed + self.expired + self.cancelled


@dataclass(slots=True)
class Total:
    """Everything ever counted of one action in one queue."""

    action: str
    queue: str
    counts: Mapping[str, int]
    waits: Mapping[int, int]
    runs: Mapping[int, int]


@dataclass(slots=True)
class Stats:
    """`states` counts every job there is; where it says `at_least`, there are so many or more.

    `counted_at` is None when all that happened is counted, else since when it is not.
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


def stats(window: int = _HOUR) -> Verb[Stats]:
    """How many jobs are in each state, and what happened in the last `window` seconds, from a whole minute on."""
    check_range(window, "window", _MINUTE, _DAY)
    overview = (yield Query("read_overview"))[0]
    now: datetime = overview["now"]
    live = [queue for queue in (yield from queues()) if any(getattr(queue, state) for state in _LIVE)]
    totals = [_total(row) for row in (yield Query("read_totals"))]
    forgotten = {row["state"]: row["jobs"] for row in (yield Query("read_forgotten"))}
    since = _floor(now - timedelta(seconds=window), _MINUTE)
    rows = yield Query("read_slots", (_MINUTE, since, now, window + _MINUTE, None, None, True))
    actions = [_slot(row, since) for row in rows]
    states = dict.fromkeys(map(str, JobState), 0)
    for state in _LIVE:
        states[state] = sum(getattr(queue, state) for queue in live)
    for state in _ENDS:
        states[state] = sum(total.counts[state] for total in totals) - forgotten.get(state, 0)
    return Stats(
        now=now,
        counted_at=overview["counted_at"],
        states=states,
        at_least=tuple(state for state in _LIVE if any(state in queue.at_least for queue in live)),
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
) -> Verb[list[Slot]]:
    """What happened from `start` until before `end`, in slots of `step` seconds, those with nothing too.

    Slots begin at whole multiples of `step` since 1970 in UTC; `start` is taken down to one and `end` up. Without them
    it is the last hour, or the last sixty slots.
    """
    check_range(step, "step", _MINUTE, _DAY)
    if step % _MINUTE or _DAY % step:
        raise BadRequest(
            f"step is {step}; it must be whole minutes that divide a day, in seconds.", field="step"
        )
    for name, given in (("action", action), ("queue", queue)):
        if given is not None:
            check_name(given, name)
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
    rows = yield Query("read_slots", (grain, since, until, step, action, queue, False))
    found = {row["place"]: row for row in rows}
    slots = []
    for place in range(points):
        at = since + timedelta(seconds=place * step)
        slots.append(_slot(found[place], at) if place in found else Slot(at))
    return slots


def _slot(row: Row, at: datetime) -> Slot:
    counts = {name: row[name] for name in _COUNTS}
    return Slot(at, row["action"], **counts, waits=_buckets(row["waits"]), runs=_buckets(row["runs"]))


def _total(row: Row) -> Total:
    counts = {name: row[name] for name in _COUNTS}
    return Total(row["fsm"], row["queue"], counts, _buckets(row["waits"]), _buckets(row["runs"]))


def _sum(slots: list[Slot], at: datetime) -> Slot:
    counts = {name: sum(getattr(slot, name) for slot in slots) for name in _COUNTS}
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


_COUNTS = ("accepted", "started", "success", "failed", "expired", "cancelled", "retried")
