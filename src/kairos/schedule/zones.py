"""Time zones: their names, their offsets, and where a local time falls in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from .places import ABBREVIATIONS, LEGACY, PLACES

EPOCH_ORDINAL = 719_163  # 1970-01-01
# Last parts of zone names that are words before they are places.
NOT_CITIES = {
    "easter",
    "west",
    "south",
    "north",
    "act",
    "center",
    "general",
    "acre",
    "wake",
    "midway",
    "currie",
    "victoria",  # also in British Columbia
    "petersburg",
    "monticello",
    "vincennes",
}
FIXED = re.compile(r"UTC([+-])(\d{2}):(\d{2})")


@lru_cache(maxsize=1024)
def load(name: str) -> tzinfo:
    """The zone of a normalised name."""
    if name == "UTC":
        return UTC
    if fixed := FIXED.fullmatch(name):
        sign = -1 if fixed[1] == "-" else 1
        return timezone(sign * timedelta(hours=int(fixed[2]), minutes=int(fixed[3])))
    return ZoneInfo(name)


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    return {
        name.lower(): name
        for name in available_timezones()
        if not name.startswith(("posix", "right", "local"))
    }


@lru_cache(maxsize=1)
def _cities() -> dict[str, str]:
    """Last parts of zone names, as people write them, where only one zone has it."""
    found: dict[str, set[str]] = {}
    for name in _known().values():
        region, _, city = name.rpartition("/")
        if region and region not in ("Etc", "SystemV", "US", "Canada", "Brazil", "Mexico", "Chile"):
            found.setdefault(city.replace("_", " ").lower(), set()).add(name)
    return {city: names.pop() for city, names in found.items() if len(names) == 1 and city not in NOT_CITIES}


@lru_cache(maxsize=4096)
def find(text: str) -> str | None:
    """The normalised name of a zone, a city, a country of one zone, or an offset such as `UTC+2`."""
    wanted = " ".join(text.split()).lower()
    if wanted in ("utc", "gmt", "z", "zulu", "etc/utc", "etc/gmt", "uct", "etc/uct", "universal", "etc/zulu"):
        return "UTC"
    if offset := re.fullmatch(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?", wanted):
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours > 14 or minutes > 59:
            return None
        return "UTC" if hours == minutes == 0 else f"UTC{offset[1]}{hours:02}:{minutes:02}"
    if wanted in LEGACY:
        return LEGACY[wanted]
    if wanted in PLACES:
        return PLACES[wanted]
    if wanted in ABBREVIATIONS:
        return None
    if "/" in wanted:
        return _known().get(wanted.replace(" ", "_"))
    return _cities().get(wanted)


def offset_at(zone: tzinfo, instant: int) -> int:
    """The zone's offset from UTC in whole seconds, at an instant in seconds since the epoch."""
    if zone is UTC:
        return 0
    shift = datetime.fromtimestamp(instant, zone).utcoffset()
    return int(shift.total_seconds()) if shift else 0


def transition(zone: tzinfo, before: int, after: int) -> int:
    """The first instant in (before, after] that has the offset of `after`, which differs from that of `before`."""
    wanted = offset_at(zone, after)
    while after - before > 1:
        middle = (before + after) // 2
        if offset_at(zone, middle) == wanted:
            after = middle
        else:
            before = middle
    return after


@dataclass(frozen=True, slots=True)
class Placed:
    """A local time placed in UTC: `other` is the second instant of a repeated one, `gap` what a skipped one lacks."""

    at: int
    other: int | None = None
    gap: int = 0


def place(zone: tzinfo, local: int) -> Placed:
    """Where a local time falls: a skipped one at the first valid instant, a repeated one first."""
    if zone is UTC:
        return Placed(local)
    around = {offset_at(zone, local - 2 * 86_400), offset_at(zone, local + 2 * 86_400)}
    around.update(offset_at(zone, local - offset) for offset in tuple(around))
    found = sorted({local - offset for offset in around if offset_at(zone, local - offset) == offset})
    if found:
        return Placed(found[0], found[-1] if len(found) > 1 else None)
    latest, earliest = max(around), min(around)
    return Placed(transition(zone, local - latest, local - earliest), gap=latest - earliest)


def to_local(zone: tzinfo, instant: int) -> int:
    return instant + offset_at(zone, instant)


def seconds_of(instant: datetime) -> int:
    """Whole seconds since the epoch, rounded down."""
    delta = instant - datetime(1970, 1, 1, tzinfo=UTC)
    return delta.days * 86_400 + delta.seconds


def instant_of(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def day_seconds(ordinal: int) -> int:
    """Midnight of a day, as local seconds since the epoch."""
    return (ordinal - EPOCH_ORDINAL) * 86_400
