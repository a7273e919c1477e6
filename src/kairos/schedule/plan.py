"""The public face: `when` compiles a text into a plan; a plan has a sentence and ticks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from . import dispatch, zones
from .errors import IntentError
from .evaluate import ticks
from .recurrence import Schedule
from .render import sentence

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule that was understood. Plans are equal when they mean the same."""

    schedule: Schedule
    calendars: Mapping[str, Container[date]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, sentence: str, calendars: Mapping[str, Container[date]] | None = None) -> Plan:
        """The plan of a canonical sentence, also once its last tick has passed."""
        # Every anchor in a canonical sentence is absolute: read at the epoch, nothing in it lies in the past.
        return when(sentence, now=datetime(1970, 1, 1, tzinfo=UTC), calendars=calendars)

    @property
    def sentence(self) -> str:
        """The one canonical sentence; it compiles to an equal plan."""
        return sentence(self.schedule)

    @property
    def zone(self) -> str:
        return self.schedule.zone

    def iterate(self, after: datetime) -> Iterator[datetime]:
        """The instants in UTC strictly after `after`, endless if the schedule is."""
        return ticks(self.schedule, _aware(after), self.calendars)

    def ticks(self, after: datetime | None = None, limit: int = 5) -> list[datetime]:
        """The next `limit` instants in UTC, strictly after `after` (by default the current time)."""
        return list(islice(self.iterate(after if after is not None else datetime.now(UTC)), limit))

    def between(self, after: datetime, until: datetime) -> list[datetime]:
        """The instants in UTC after `after`, up to and including `until`."""
        return list(takewhile(lambda tick: tick <= until, self.iterate(after)))


def when(
    text: str,
    *,
    now: datetime | None = None,
    tz: str = "UTC",
    calendars: Mapping[str, Container[date]] | None = None,
) -> Plan:
    """Compile a text; whatever is not fully understood raises `IntentError`.

    `tz` is used if the text names no zone. `calendars` are the days called holidays, by name.
    """
    zone = zones.find(tz)
    if zone is None:
        raise IntentError(f"{tz!r} is not a time zone.", text=tz, length=len(tz))
    instant = _aware(now) if now is not None else datetime.now(UTC)
    calendars = calendars or {}
    # A fraction of a second counts as the whole: nothing is ever due before it was asked for.
    seconds = zones.seconds_of(instant) + (1 if instant.microsecond else 0)
    try:
        schedule = dispatch.parse(text, seconds, zone, calendars)
    except IntentError as refusal:
        raise refusal.suggest_only(
            partial(_understood, now=seconds, zone=zone, calendars=calendars)
        ) from None
    return Plan(schedule, calendars)


def _aware(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError("an instant needs a time zone: pass an aware datetime")
    return instant


def _understood(text: str, now: int, zone: str, calendars: Mapping[str, Container[date]]) -> bool:
    try:
        dispatch.parse(text, now, zone, calendars)
    except IntentError:
        return False
    return True
