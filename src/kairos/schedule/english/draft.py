"""The syntax tree of the English grammar: what its functions read, before compilation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from kairos.schedule.plan.recurrence import DayRule

if TYPE_CHECKING:
    from kairos.schedule.english.token_reader import TokenReader

Noun = Literal["day", "weekday", "business", "nearest"]


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day as written. If it is `bare`, the context decides between am and pm."""

    hour: int
    minute: int
    second: int
    bare: bool
    first: int  # token indexes, for refusals
    last: int
    meridiem: bool = False
    midnight_word: bool = False
    part: str | None = None

    @property
    def seconds(self) -> int:
        return self.hour * 3600 + self.minute * 60 + self.second


@dataclass(frozen=True, slots=True)
class Scope:
    """What an ordinal counts within: each month, named months, every n months, a quarter, a year, one month."""

    kind: Literal["month", "months", "step", "quarter", "year", "concrete"]
    months: tuple[int, ...] = ()
    every: int = 1
    year: int | None = None
    each: bool = True  # whether “each” or “every” was written, not only “the”
    lenient: bool = False  # “that has one”: leave out months without that day


@dataclass(frozen=True, slots=True)
class Ordinal:
    """The n-th day, weekday or business day; a negative number counts from the end."""

    n: int
    noun: Noun
    weekday: int = 0


@dataclass(frozen=True, slots=True)
class DayChoice:
    """Days named together, such as “monday and friday”, “the 1st” or a date."""

    first: int
    last: int
    weekdays: tuple[int, ...] = ()
    months: tuple[int, ...] = ()  # “mondays in january”
    plural: bool = False  # “mondays”, “weekdays” or a range, which mean every week
    ordinals: tuple[Ordinal, ...] = ()
    scope: Scope | None = None
    month: int | None = None  # a date of the year
    days: tuple[int, ...] = ()
    year: int | None = None
    date: date | None = None


@dataclass(slots=True)
class Draft:
    """One part of an intent: days and times, with what bounds them.

    A field that ends with `_at` is the index of the token that said it, for refusals.
    """

    everies: list[int] = field(default_factory=list)  # token indexes of “every”, “daily”, …
    cadence: int | None = None  # seconds
    period: tuple[int, str] | None = None
    rate: tuple[int, str, int, int] | None = None  # “twice a day”: count, unit, first token, end
    choices: list[DayChoice] = field(default_factory=list)
    months: tuple[int, ...] = ()
    months_at: int = 0
    recurring: bool = False
    times: list[ClockTime] = field(default_factory=list)
    part: str | None = None
    part_at: int = 0
    window: tuple[ClockTime, ClockTime] | None = None
    window_word: str = ""
    minutes: tuple[int, ...] | None = None
    bare_minutes: bool = False  # “:30”, “minute 30”, without a word about the hour
    seconds: tuple[int, ...] | None = None
    hours: tuple[int, ...] | None = None
    minutes_at: int = 0
    delay: tuple[tuple[float, str], ...] | None = None
    delay_at: int = 0
    instant: datetime | None = None
    once: bool = False
    time_at: int = 0
    joined: bool = False  # an “and” was just read, so that more days may follow
    loosely: bool = False  # joined by “and”, not “and also”: a later clause may apply to all the days

    def add(self, reader: TokenReader, choice: DayChoice) -> None:
        """Add a choice of days; a second one must be joined to the first."""
        if self.choices and not self.joined:
            reader.refuse("The days are said twice: join them with “and”.", choice)
        self.choices.append(choice)
        self.joined = False

    def recurs(self, mark: int) -> None:
        """Record that the word at this token index says that the part recurs."""
        self.recurring = True
        if mark not in self.everies:
            self.everies.append(mark)

    @property
    def every(self) -> int | None:
        """The token index of the first “every”, “daily”, …"""
        return self.everies[0] if self.everies else None

    @property
    def timed(self) -> bool:
        """Whether a time of day or an interval within the day was read."""
        return bool(self.times) or self.cadence is not None or self.minutes is not None


@dataclass(slots=True)
class Limits:
    """Clauses that apply to the whole intent: start, end, count, exceptions, zone."""

    start: date | datetime | None = None
    start_time: bool = False
    start_at: int = 0
    end: date | datetime | None = None
    end_at: int = 0
    count: int | None = None
    count_at: int = 0
    length: tuple[int, str] | None = None
    exceptions: list[DayRule] = field(default_factory=list)
    exceptions_at: int = 0
    holidays: list[str] = field(default_factory=list)
    zone: str | None = None
    rfc5545_gaps: bool = False

    @property
    def bounded(self) -> bool:
        """Whether a start or an end was read."""
        return (self.start or self.end or self.count or self.length) is not None
