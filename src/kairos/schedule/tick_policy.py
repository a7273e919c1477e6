"""Decide for each due tick whether it fires or is skipped, and why it is skipped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

OVERLAPS = ("allow", "skip", "queue", "cancel")
CATCH_UPS = ("none", "last", "all")

# A tick decided within this time of its instant is on time; catch-up applies to later ones.
ON_TIME = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class TickPolicy:
    """What a schedule does with ticks that overlap a live job, and with ticks that were missed."""

    overlap: str = "allow"
    catch_up: str = "last"
    catch_up_within: timedelta = timedelta(days=1)
    jitter: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one tick: skipped for a `reason`, or, if that is None, fired `delay` after its instant."""

    tick_at: datetime
    reason: str | None
    delay: timedelta = timedelta(0)


def decide(
    name: str,
    policy: TickPolicy,
    ticks: Sequence[datetime],
    now: datetime,
    *,
    running: bool = False,
    paused_until: datetime | None = None,
    left: int | None = None,
    more: bool = False,
) -> list[Decision]:
    """Decide on every tick, in order.

    `left` is how many ticks may still fire, if the schedule has a count. `more`: later ticks are due too, so that the
    last of these is not the latest.
    """
    last = None if more else ticks[-1]
    reasons = [_lateness(policy, tick, last, now, paused_until) for tick in ticks]
    fires = [place for place, reason in enumerate(reasons) if reason is None]
    if left is not None:
        for place in fires[left:]:
            reasons[place] = "its count was used up"
        fires = fires[:left]
    if policy.overlap == "skip" and fires:
        for place in fires if running else fires[1:]:
            reasons[place] = "the job of an earlier tick was still live"
    if policy.overlap == "cancel":
        for place in fires[:-1]:
            reasons[place] = "a later tick would have cancelled it at once"
    return [
        Decision(tick, reason, _jitter(name, tick, policy.jitter) if reason is None else timedelta(0))
        for tick, reason in zip(ticks, reasons, strict=True)
    ]


def _lateness(
    policy: TickPolicy, tick: datetime, last: datetime | None, now: datetime, paused_until: datetime | None
) -> str | None:
    if paused_until is not None and tick <= paused_until:
        return "the schedule was paused"
    late = now - tick
    if late <= ON_TIME:
        return None
    match policy.catch_up:
        case "none":
            return "missed: no worker was there to fire it"
        case "last":
            return None if tick == last else "missed: a later tick stands for it"
        case _:
            return None if late <= policy.catch_up_within else "missed: longer ago than the catch-up window"


def _jitter(name: str, tick: datetime, most: timedelta) -> timedelta:
    """Return a delay that depends only on the schedule's name and the tick."""
    if not most:
        return timedelta(0)
    digest = hashlib.sha256(f"{name} {tick.isoformat()}".encode()).digest()
    return most * (int.from_bytes(digest[:6]) / 2**48)
