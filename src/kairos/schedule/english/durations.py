"""Lengths of time: “20 minutes”, “an hour and a half”, “2h30m”."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from kairos.schedule.english.vocabulary import UNITS
from kairos.schedule.plan.days import add_months

if TYPE_CHECKING:
    from kairos.schedule.english.token_reader import TokenReader

Span = tuple[tuple[float, str], ...]
WHOLE_DAYS = {"day": 1, "week": 7, "fortnight": 14}
WHOLE_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def read_span(reader: TokenReader) -> Span | None:
    """Read a length of time; return None and consume nothing if there is none."""
    mark = reader.index
    first = _one(reader)
    if first is None:
        reader.index = mark
        return None
    pieces = [first]
    while True:
        before = reader.index
        reader.accept_separator()
        if reader.accept_phrase("a", "half"):
            amount, unit = pieces[-1]
            pieces[-1] = (amount + 0.5, unit)
            return tuple(pieces)
        more = _one(reader) if reader.kind("number") else None
        if more is None or more[1] in {unit for _, unit in pieces}:
            reader.index = before
            return tuple(pieces)
        pieces.append(more)


def _one(reader: TokenReader) -> tuple[float, str] | None:
    token = reader.peek()
    if reader.accept("half"):
        if reader.accept("a", "an") is None:
            reader.accept("-")
        unit = read_unit(reader)
        return (0.5, unit) if unit in ("hour", "minute", "day") else None
    if token.text in ("a", "an") and token.kind == "word":
        reader.take()
        if reader.accept("half"):
            reader.accept("-")
            return (0.5, "hour") if read_unit(reader) == "hour" else None
        if reader.at("quarter") and reader.at("of", ahead=1):
            reader.index += 2
            return (0.25, "hour") if reader.accept("an", "the") and read_unit(reader) == "hour" else None
        plural = reader.peek().text.endswith("s") and len(reader.peek().text) > 1
        unit = None if plural else read_unit(reader)
        return (1.0, unit) if unit else None
    if token.kind != "number":
        return None
    reader.take()
    amount = float(token.text) if not token.spelled else float(token.value)
    if reader.at("and") and reader.at("a", "an", ahead=1) and reader.at("half", ahead=2):
        reader.index += 3
        amount += 0.5
    reader.accept("-")
    reader.accept("more")
    unit = read_unit(reader)
    return (amount, unit) if unit else None


def calendar_days(span: Span, day: date) -> date | None:
    """The day that is a span of whole days, weeks, months or years after another; None if there is none."""
    days = months = 0.0
    for amount, unit in span:
        if unit not in WHOLE_DAYS and unit not in WHOLE_MONTHS:
            return None
        days += amount * WHOLE_DAYS.get(unit, 0)
        months += amount * WHOLE_MONTHS.get(unit, 0)
    if days != int(days) or months != int(months) or days > 1_000_000 or months > 12_000:
        return None
    later = add_months(day, int(months)) if months else day
    return later + timedelta(days=int(days)) if later is not None else None


def read_unit(reader: TokenReader) -> str | None:
    """Read a unit of time; refuse a capital M, which may be minutes or months."""
    token = reader.peek()
    if token.kind not in ("word", "ordinal") or token.text not in UNITS:
        return None
    if token.raw == "M":
        reader.refuse("M may be minutes or months: write it out.")
    reader.take()
    return UNITS[token.text]
