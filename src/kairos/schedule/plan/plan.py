"""A plan: a normalised recurrence with its canonical sentence and its ticks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from kairos.schedule.plan.evaluate import ticks
from kairos.schedule.plan.recurrence import Recurrence
from kairos.schedule.plan.stored import from_json, to_json
from kairos.schedule.render.sentence import sentence

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Plan:
    """A parsed schedule. Two plans are equal if they mean the same."""

    recurrence: Recurrence
    calendars: Mapping[str, Container[date]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_json(
        cls, document: Mapping[str, Any], calendars: Mapping[str, Container[date]] | None = None
    ) -> Plan:
        """Read a stored plan; raise `PlanUnreadable` if a newer release wrote it."""
        return cls(from_json(document), calendars or {})

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON document with a format version."""
        return to_json(self.recurrence)

    @property
    def sentence(self) -> str:
        """The canonical sentence. Parsing it gives an equal plan."""
        return sentence(self.recurrence)

    @property
    def zone(self) -> str:
        return self.recurrence.zone

    def iterate(self, after: datetime) -> Iterator[datetime]:
        """Yield the instants in UTC strictly after `after`, without end if the schedule has none."""
        return ticks(self.recurrence, require_aware(after), self.calendars)

    def ticks(self, after: datetime | None = None, limit: int = 5) -> list[datetime]:
        """Return the next `limit` instants in UTC, strictly after `after` (default: the current time)."""
        return list(islice(self.iterate(after if after is not None else datetime.now(UTC)), limit))

    def between(self, after: datetime, until: datetime) -> list[datetime]:
        """Return the instants in UTC after `after`, up to and including `until`."""
        return list(takewhile(lambda tick: tick <= until, self.iterate(after)))


def require_aware(instant: datetime) -> datetime:
    """Return an instant that has a time zone; raise `ValueError` for one that has none."""
    if instant.tzinfo is None:
        raise ValueError("an instant needs a time zone: pass an aware datetime")
    return instant
