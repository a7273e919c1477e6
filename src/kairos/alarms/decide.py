"""Decide which alarms to raise, refresh and clear, from what was found and what is open. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kairos.alarms.kinds import KINDS, QUIET_AFTER

_MOST = 1000  # the checks count no further
_WORDS = {
    "jobs": ("job", "jobs"),
    "leases": ("lease", "leases"),
    "ticks": ("tick", "ticks"),
    "commits": ("commit", "commits"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: a state that holds now, or an event since the last check (up to `at`)."""

    kind: str
    subject: str
    count: int
    since: datetime
    at: datetime
    job: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """An alarm that is raised and not cleared."""

    id: int
    kind: str
    subject: str
    count: int
    first_at: datetime
    last_at: datetime
    acknowledged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """An alarm to write; the database decides whether it is a new one."""

    kind: str
    subject: str
    severity: str
    cause: str
    remedy: str
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes to write. `clear` is applied first, so that a later recurrence is a new alarm."""

    clear: list[int] = field(default_factory=list)
    report: list[Report] = field(default_factory=list)


def decide(
    checked: Collection[str], found: Sequence[Found], opened: Sequence[Open], now: datetime
) -> Changes:
    """Decide the changes; `checked` are the kinds that were checked this time, all others stay as they are.

    An alarm about a state stays open while the state is found. One about an event stays open until it is
    acknowledged or has not recurred for 24 hours; a later recurrence is a new alarm.
    """
    changes = Changes()
    there = {(each.kind, each.subject): each for each in found}
    known: dict[tuple[str, str], Open] = {}
    for alarm in opened:
        seen = there.get((alarm.kind, alarm.subject))
        if _is_over(alarm, seen, checked, now):
            changes.clear.append(alarm.id)
            if seen is not None and alarm.acknowledged_at is not None and seen.at <= alarm.acknowledged_at:
                del there[alarm.kind, alarm.subject]  # it had ended before it was acknowledged
        else:
            known[alarm.kind, alarm.subject] = alarm
    changes.report.extend(_report(each, known.get(key)) for key, each in there.items())
    return changes


def _is_over(alarm: Open, seen: Found | None, checked: Collection[str], now: datetime) -> bool:
    kind = KINDS.get(alarm.kind)
    if kind is None:
        return True  # a kind of an older version, which is no longer checked
    if not kind.happens:
        return seen is None and alarm.kind in checked
    if alarm.acknowledged_at is not None:
        return True
    return (now if seen is None else seen.since) - alarm.last_at >= QUIET_AFTER


def _report(found: Found, before: Open | None) -> Report:
    kind = KINDS[found.kind]
    count = found.count + (before.count if before is not None and kind.happens else 0)
    since = before.first_at if before is not None else found.since if kind.happens else found.at
    last = max(found.at, before.last_at) if before is not None else found.at
    words = {name: pair[count != 1] for name, pair in _WORDS.items()}
    values = {
        **words,
        "count": f"{count} or more" if count == _MOST and not kind.happens else count,
        "subject": found.subject,
        "pid": found.subject.removeprefix("pid "),
        "job": found.job,
        "detail": found.detail or "no reason is known",
        "since": f"{found.since.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z",
    }
    return Report(
        kind.name,
        found.subject,
        kind.severity,
        f"{kind.cause.format(**values).rstrip('.')}.",
        kind.remedy.format(**values),
        count,
        since,
        last,
    )
