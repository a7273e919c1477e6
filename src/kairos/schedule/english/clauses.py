"""Clauses that begin with a preposition (at, in, between, from, for), and minutes past the hour."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kairos.schedule.english import start_and_end as bounds
from kairos.schedule.english.dates import read_months, read_year
from kairos.schedule.english.day_choices import read_day_choice, read_day_range
from kairos.schedule.english.durations import read_span, read_unit
from kairos.schedule.english.number_lists import read_numbers
from kairos.schedule.english.ordinals import read_ordinals
from kairos.schedule.english.refusals import refuse_rate
from kairos.schedule.english.times_of_day import part_of, read_times, read_window
from kairos.schedule.english.vocabulary import MONTHS
from kairos.schedule.english.weekday_words import RANGES
from kairos.schedule.english.zone_names import read_zone

if TYPE_CHECKING:
    from kairos.schedule.english.draft import Draft, Limits
    from kairos.schedule.english.token_reader import TokenReader


PAST_HOUR_WORDS = frozenset(("minute", "minutes", "min", "mins", "second", "seconds", "sec", "secs"))
PAST_HOUR_WORDS |= {"the", "start", "top", "beginning", "a", "quarter", "half"}

BOUNDS = "These go from 0 to {}, upwards."


def read_at(reader: TokenReader, draft: Draft) -> bool:
    """Read what follows “at”: minutes past the hour, a window, or times, which may be bare hours."""
    mark = reader.index
    if reader.at("every", "each") or reader.kind("instant") or read_past_hour(reader, draft):
        return True
    if read_clock_window(reader, draft, "at", mark):
        return True
    if reader.at("the", "start", "beginning", "end", "weekends") and read_day_choice(reader, draft):
        return True
    times = read_times(reader, allow_bare=True)
    if not times:
        return False
    if draft.times:
        reader.refuse("The time is said twice.", mark, until=reader.index)
    draft.times, draft.time_at = times, mark
    return True


def read_past_hour(reader: TokenReader, draft: Draft) -> bool:
    """Read minutes or seconds past the hour: “minute 10 and 30”, “5 minutes past the hour”, “on the hour”."""
    mark = reader.index
    unit = reader.peek().text
    if unit not in PAST_HOUR_WORDS and not reader.kind("number", "minute"):
        return False
    if reader.accept("minute", "minutes", "min", "mins") and reader.kind("number"):
        _set_minutes(reader, draft, read_numbers(reader, 0, 59, BOUNDS.format(59)), mark, hourly=False)
        hourly = _read_hours(reader, draft)
        draft.recurring, draft.bare_minutes = hourly or draft.recurring, not hourly
        return True
    reader.index = mark
    if reader.kind("minute"):
        _set_minutes(reader, draft, _colons(reader), mark, hourly=False)
        hourly = _read_hours(reader, draft)
        draft.recurring, draft.bare_minutes = hourly or draft.recurring, not hourly
        return True
    if unit in ("second", "seconds", "sec", "secs") and reader.kind("number", ahead=1):
        reader.take()
        if draft.seconds is not None:
            reader.refuse("The seconds are said twice.", mark)
        draft.seconds, draft.minutes_at = read_numbers(reader, 0, 59, BOUNDS.format(59)), mark
        return True
    if reader.accept_phrase("the", "hour"):
        _set_minutes(reader, draft, (0,), mark, hourly=False)
        return True
    reader.accept("the")
    edge = reader.accept("start", "top", "beginning") and reader.accept("of")
    if edge and reader.accept("every", "each", "the") and reader.accept("hour"):
        _set_minutes(reader, draft, (0,), mark)
        return True
    reader.index = mark
    if reader.accept_phrase("the", "minute"):
        if draft.cadence is not None:
            reader.refuse("How often is said twice.", mark)
        draft.cadence, draft.recurring = 60, True
        return True
    if reader.accept_phrase("the", "half", "hour") or reader.accept_phrase("the", "half", "-", "hour"):
        _set_minutes(reader, draft, (30,), mark, hourly=False)
        return True
    return _read_minutes_past_the_hour(reader, draft, mark)


def _read_minutes_past_the_hour(reader: TokenReader, draft: Draft, mark: int) -> bool:
    """Read “5 and 35 minutes past the hour”, “half past every hour”, “10 to the hour”; consume nothing else."""
    reader.index = mark
    reader.accept("a")
    minutes: tuple[int, ...] = ()
    if reader.accept("quarter"):
        minutes = (15,)
    elif reader.accept("half"):
        minutes = (30,)
    elif reader.index == mark and reader.kind("number"):
        token = reader.take()
        found = [token.value]
        while reader.at("and", ",") and reader.kind("number", ahead=1):
            reader.take()
            found.append(reader.take().value)
        minutes = tuple(sorted(set(found))) if all(n < 60 for n in found) else ()
        reader.accept("minutes", "minute", "mins", "min")
    direction = reader.accept("past", "after", "to", "before")
    if minutes and direction is not None and reader.accept("the", "every", "each") and reader.accept("hour"):
        if direction.text in ("to", "before"):
            minutes = tuple(sorted((60 - minute) % 60 for minute in minutes))
        _set_minutes(reader, draft, minutes, mark)
        return True
    if (
        minutes
        and direction is not None
        and direction.text in ("past", "after")
        and reader.done
        and draft.cadence == 3600
    ):
        _set_minutes(reader, draft, minutes, mark)
        return True
    reader.index = mark
    return False


def _set_minutes(
    reader: TokenReader, draft: Draft, minutes: tuple[int, ...], mark: int, hourly: bool = True
) -> None:
    if draft.minutes is not None:
        reader.refuse("The minutes are said twice.", mark)
    draft.minutes, draft.minutes_at = minutes, mark
    draft.recurring = draft.recurring or hourly


def _read_hours(reader: TokenReader, draft: Draft) -> bool:
    """Read “of every hour” or “past the hour”, and return True; “past hours 9 to 17” sets hours instead."""
    mark = reader.index
    if reader.accept("of", "past", "after", "in") is None:
        return False
    if reader.accept("every", "each", "the") and reader.accept("hour"):
        return True
    reader.index = mark + 1
    if reader.accept("hour", "hours") and reader.kind("number"):
        draft.hours = read_numbers(reader, 0, 23, BOUNDS.format(23))
        return False
    reader.index = mark
    return False


def _colons(reader: TokenReader) -> tuple[int, ...]:
    """Read minutes written as “:15 and :45”."""
    found = {reader.take().value}
    while reader.at("and", ",", "&") and reader.kind("minute", ahead=1):
        reader.take()
        found.add(reader.take().value)
    if max(found) > 59:
        reader.refuse("Minutes go from 0 to 59.", reader.index - 1)
    return tuple(sorted(found))


def read_in(reader: TokenReader, draft: Draft, limits: Limits) -> bool:
    """Read what follows “in”: a delay, months, a part of the day, or a place."""
    mark = reader.index
    span = read_span(reader)
    if span is not None:
        if draft.delay is not None:
            reader.refuse("The delay is said twice.", mark)
        draft.delay, draft.delay_at = span, mark
        return True
    if part_of(reader.peek(1).text):
        reader.accept("the")
    part = part_of(reader.peek().text)
    if part is not None and reader.kind("word"):
        if draft.part is not None:
            reader.refuse("The part of the day is said twice.", mark)
        reader.take()
        draft.part, draft.part_at = part, mark
        return True
    months = read_months(reader)
    if months:
        if draft.months:
            reader.refuse("The months are said twice.", mark)
        if read_year(reader) is not None:
            reader.refuse("That names a whole month, not a day.", mark)
        last = draft.choices[-1] if draft.choices else None
        if last is not None and last.weekdays and last.last == mark - 2:
            if any(token.text in ("every", "each") for token in reader.tokens[last.first : mark]):
                reader.refuse("Are these months meant for all the days, or only for the last?", last.first)
            draft.choices[-1] = replace(last, months=months)
        else:
            draft.months, draft.months_at = months, mark
        return True
    return read_zone(reader, limits, after_in=True)


def read_clock_window(reader: TokenReader, draft: Draft, word: str, mark: int) -> bool:
    """Read a window within the day that follows `word`, which may be empty; consume nothing if there is none."""
    before = reader.index
    window = read_window(reader, word)
    if window is None:
        reader.index = before
        return False
    if draft.window is not None:
        reader.refuse("The window is said twice.", mark)
    draft.window, draft.window_word = window, "between" if word == "between" else "from"
    return True


def read_between(reader: TokenReader, draft: Draft, limits: Limits, mark: int) -> bool:
    """Read what follows “between”: a window within the day, or two dates."""
    if read_clock_window(reader, draft, "between", mark):
        return True
    if bounds.read_start(reader, limits, mark, draft.timed):
        if not reader.accept("and") or not bounds.read_end(reader, limits, mark, draft.timed):
            reader.refuse("Between that and what?")
        return True
    return False


def read_from(reader: TokenReader, draft: Draft, limits: Limits, mark: int) -> bool:
    """Read what follows “from”: a window, weekdays, days of the month, or a start and maybe an end."""
    before = reader.index
    if read_clock_window(reader, draft, "from", mark):
        return True
    if read_day_range(reader, draft):
        return True
    reader.index = before
    if reader.peek().text in MONTHS and reader.at(*RANGES, ahead=1):
        reader.refuse(
            "From one month to another: every year, or only this time? Name the months, or give dates.",
            mark,
            ("every monday at 09:00 in march, april and may",),
        )
    if bounds.read_start(reader, limits, mark, draft.timed):
        ender = reader.accept(*RANGES)
        if ender is not None and not bounds.read_end(reader, limits, mark, draft.timed):
            reader.refuse("Until when?")
        return True
    reader.index = before
    ordinals = read_ordinals(reader)
    if ordinals is not None and len(ordinals.ordinals) > 1:
        draft.add(reader, ordinals)
        return True
    reader.index = before
    return False


def read_for(reader: TokenReader, limits: Limits, mark: int) -> bool:
    """Read what follows “for”, a count or a length of time: “5 times”, “3 weeks”, “the next month”."""
    if reader.accept_phrase("up", "to") and read_count(reader, limits, mark):
        return True
    if read_count(reader, limits, mark):
        return True
    following = reader.accept("the") and reader.accept("next")
    unit = read_unit(reader) if following and not reader.peek().text.endswith("s") else None
    span = ((1.0, unit),) if unit else read_span(reader)
    if span is None or len(span) != 1 or span[0][0] != int(span[0][0]):
        reader.refuse("For how many times, or how long?", mark)
    if limits.length is not None or limits.count is not None:
        reader.refuse("The end is said twice.", mark)
    limits.length, limits.count_at = (int(span[0][0]), span[0][1]), mark
    return True


def read_count(reader: TokenReader, limits: Limits, mark: int) -> bool:
    """Read a count: “5 times”, “10x”, “3 occurrences”; refuse “3 times a day”, which says no times of day."""
    token, following = reader.peek(), reader.peek(1)
    if token.kind != "number" or following.text not in ("times", "time", "x", "occurrences", "occurrence"):
        return False
    if following.text in ("time", "occurrence") and token.value != 1:
        return False  # “seven time” is a word that is spelled wrong
    reader.index += 2
    if reader.at("a", "an", "per", "every", "each") or reader.at("daily", "weekly"):
        refuse_rate(reader, mark, reader.index)
    if token.value < 1:
        reader.refuse("It would never run.", mark)
    if limits.count is not None or limits.length is not None:
        reader.refuse("The end is said twice.", mark)
    limits.count, limits.count_at = token.value, mark
    return True
