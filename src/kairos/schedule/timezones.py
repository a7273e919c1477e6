"""Time zones: their names, their offsets, and where a local time falls in UTC."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from kairos.schedule.zone_aliases import ABBREVIATIONS, AMBIGUOUS_PLACES, LEGACY_ZONES, PLACE_ZONES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EPOCH_ORDINAL = 719_163  # 1970-01-01
# Last parts of zone names that are ordinary words or several places.
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
# Letters that Unicode does not decompose.
UNDECOMPOSED = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ß": "ss", "ı": "i", "đ": "d", "Đ": "D"}
)
# Marks within names that people also leave out: Port-au-Prince, N'Djamena, St. John's.
MARKS_OF_NAMES = str.maketrans({"-": " ", "'": None, "’": None, "ʻ": None})
FIXED = re.compile(r"UTC([+-])(\d{2}):(\d{2})")


@lru_cache(maxsize=1024)
def load_zone(name: str) -> tzinfo:
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
            found.setdefault(_as_place(city.replace("_", " ").lower()), set()).add(name)
    return {city: names.pop() for city, names in found.items() if len(names) == 1 and city not in NOT_CITIES}


def without_diacritics(text: str) -> str:
    """Remove diacritics: “São Paulo” becomes “Sao Paulo”."""
    decomposed = unicodedata.normalize("NFKD", text.translate(UNDECOMPOSED))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _as_place(name: str) -> str:
    """Write the name of a place, in small letters, in its simplest way: “n'djamena” becomes “ndjamena”."""
    plain = name.translate(MARKS_OF_NAMES)
    return f"st {plain[6:]}" if plain.startswith("saint ") else plain


def place_key(name: str) -> str:
    """The key of a place in the tables of places."""
    return _as_place(without_diacritics(" ".join(name.split())).lower())


@lru_cache(maxsize=4096)
def find_zone(text: str) -> str | None:
    """The normalised name of a zone, a city, a country of one zone, or an offset such as `UTC+2`."""
    wanted = without_diacritics(" ".join(text.split())).lower()
    if wanted in ("utc", "gmt", "z", "zulu", "etc/utc", "etc/gmt", "uct", "etc/uct", "universal", "etc/zulu"):
        return "UTC"
    if offset := re.fullmatch(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?", wanted):
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours > 14 or minutes > 59:
            return None
        return "UTC" if hours == minutes == 0 else f"UTC{offset[1]}{hours:02}:{minutes:02}"
    if wanted in LEGACY_ZONES:
        return LEGACY_ZONES[wanted]
    place = _as_place(wanted)
    if place in PLACE_ZONES:
        return PLACE_ZONES[place]
    if wanted in ABBREVIATIONS or place in AMBIGUOUS_PLACES:
        return None
    if "/" in wanted:
        return _known().get(wanted.replace(" ", "_"))
    return _cities().get(place)


def similar_zones(text: str) -> list[str]:
    """Names of zones or places that are spelled almost like this one, the nearest first."""
    if "/" in text:
        zones = _known()
        wanted = without_diacritics("_".join(text.split())).lower()
        return [zones[name] for name in get_close_matches(wanted, zones, 2, 0.75)]
    cities = _cities()
    close = get_close_matches(place_key(text), {**cities, **PLACE_ZONES}, 2, 0.75)
    return [
        cities[name].rpartition("/")[2].replace("_", " ") if name in cities else name.title()
        for name in close
    ]


def unknown_zone(name: str) -> str:
    """The message for a name that is no time zone."""
    close = similar_zones(name)
    return f"{name!r} is not a time zone.{f' Did you mean {close[0]!r}?' if close else ''}"


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
class LocalTime:
    """A local time resolved to UTC. `other`: second instant of a repeated time; `gap`: seconds that the clocks skip."""

    at: int
    other: int | None = None
    gap: int = 0


def resolve_local(zone: tzinfo, local: int) -> LocalTime:
    """Resolve a local time: a skipped one to the first valid instant, a repeated one to its first."""
    if zone is UTC:
        return LocalTime(local)
    around = {offset_at(zone, local - 2 * 86_400), offset_at(zone, local + 2 * 86_400)}
    around.update(offset_at(zone, local - offset) for offset in tuple(around))
    found = sorted({local - offset for offset in around if offset_at(zone, local - offset) == offset})
    if found:
        return LocalTime(found[0], found[-1] if len(found) > 1 else None)
    latest, earliest = max(around), min(around)
    return LocalTime(transition(zone, local - latest, local - earliest), gap=latest - earliest)


def resolve_local_rfc5545(zone: tzinfo, local: int) -> int:
    """Resolve a local time by RFC 5545, 3.3.5: a skipped one with the offset before the gap, a repeated one first."""
    resolved = resolve_local(zone, local)
    return local - offset_at(zone, resolved.at - 1) if resolved.gap else resolved.at


@dataclass(frozen=True, slots=True)
class LocalStretch:
    """Local times from `first` up to `end` with one offset. If `gap`, the clocks skip them at the instant `opens`."""

    first: int
    end: int
    offset: int
    gap: int = 0
    opens: int = 0


NO_STRETCH = LocalStretch(0, 0, 0)


def local_stretch(zone: tzinfo, local: int) -> LocalStretch:
    """Local times from `local` on with one offset, at most a day. Skipped times have the offset before the gap."""
    if zone is UTC:
        return LocalStretch(local, local + 86_400, 0)
    before, after = local - 2 * 86_400, local + 2 * 86_400
    old, new = offset_at(zone, before), offset_at(zone, after)
    if old == new:
        return LocalStretch(local, local + 86_400, old)
    opens = transition(zone, before, after)
    if local < opens + old:
        return LocalStretch(local, opens + old, old)
    if local < opens + new:
        return LocalStretch(local, opens + new, old, new - old, opens)
    return LocalStretch(local, local + 86_400, new)


def resolve_rfc5545_in_order(zone: tzinfo, ordered: Iterable[int]) -> Iterator[int]:
    """Resolve ordered local times by RFC 5545, lazily, into ordered instants; one instant may come twice."""
    stretch = NO_STRETCH
    skipped: deque[int] = deque()  # resolved with the old offset, they fall among later local times
    for local in ordered:
        if not stretch.first <= local < stretch.end:
            stretch = local_stretch(zone, local)
        at = local - stretch.offset
        if stretch.gap:
            skipped.append(at)
            continue
        while skipped and skipped[0] <= at:
            yield skipped.popleft()
        yield at
    yield from skipped


def earliest_local(zone: tzinfo, since: int) -> int:
    """A local time before which no local time resolves to an instant after `since`."""
    # After a jump forward, a skipped local time still resolves to an instant after the jump, with the old offset.
    return since + min(offset_at(zone, since), offset_at(zone, since - 86_400))


@lru_cache(maxsize=1024)
def gaps_of_day(zone: tzinfo) -> tuple[tuple[int, int], ...]:
    """The stretches of local time that the zone's clocks jump over, as seconds of the day, in 2020 to 2040."""
    found: set[tuple[int, int]] = set()
    months = [
        day_seconds(date(year, month, 1).toordinal()) for year in range(2020, 2041) for month in range(1, 13)
    ]
    for before, after in pairwise(months):
        if offset_at(zone, before) != offset_at(zone, after):
            at = transition(zone, before, after)
            first, jump = at + offset_at(zone, at - 1), offset_at(zone, at) - offset_at(zone, at - 1)
            if jump > 0:
                found.add((first % 86_400, first % 86_400 + jump))
    return tuple(sorted(found))


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
