"""When within the day: times, minutes past the hour, windows and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from kairos.schedule.english.times_of_day import check_night, resolve
from kairos.schedule.plan import intervals
from kairos.schedule.plan.recurrence import (
    DAY_SECONDS,
    Calendar,
    Grid,
    Hourly,
    Interval,
    Times,
    Window,
    clock,
)
from kairos.schedule.timezones import day_seconds, load_zone, resolve_local, seconds_of, to_local

if TYPE_CHECKING:
    from kairos.schedule.english.draft import Draft, Limits
    from kairos.schedule.english.token_reader import TokenReader
    from kairos.schedule.plan.recurrence import DayRule


@dataclass(frozen=True, slots=True)
class Piece:
    """A compiled part: its rule, and how often it applies (`every`), counted from its first match.

    `anchored`: the rule has its start in its own anchor, so the schedule needs no start bound.
    """

    rule: Calendar | Interval
    every: tuple[int, str] | None = None
    start: date | datetime | None = None
    anchored: bool = False


def times_of(reader: TokenReader, draft: Draft) -> Times | Grid | Hourly | Window:
    """Compile the times of day of a recurring part."""
    if draft.minutes is not None or draft.seconds is not None:
        return _times_past_hour(reader, draft)
    if draft.window is not None:
        reader.refuse(
            "A window needs to say how often: every hour, every 15 minutes?",
            draft.window[0].first,
            (
                "every hour from 09:00 to 17:00 on weekdays",
                "every 15 minutes from 09:00 to 17:00 on weekdays",
            ),
            until=draft.window[1].last + 1,
        )
    if not draft.times:
        part = {"morning": "08:00", "afternoon": "15:00", "evening": "19:00", "night": "22:00"}.get(
            draft.part or "", "09:00"
        )
        reader.refuse(
            "At what time of day?",
            len(reader.tokens),
            (f"{reader.text.rstrip(' .')} at {part}", f"{reader.text.rstrip(' .')} at 17:00"),
        )
    found = resolve(reader, draft.times, draft.part)
    if draft.part == "night" and draft.choices:
        check_night(reader, draft.times, found)
    return Times(tuple(sorted(set(found))))


def _times_past_hour(reader: TokenReader, draft: Draft) -> Times | Grid | Hourly:
    minutes, seconds = draft.minutes, draft.seconds or (0,)
    if draft.times or draft.part is not None:
        reader.refuse("Minutes past the hour do not go with a time of day.", draft.minutes_at)
    if minutes is None:
        reader.refuse("Seconds of which minute?", draft.minutes_at, ("every minute at second 10",))
    if draft.bare_minutes and draft.cadence is None and draft.hours is None and draft.window is None:
        shown = minutes[0]
        reader.refuse(
            "At that minute of every hour, or of one hour? Say “every hour”, or name the hour.",
            draft.minutes_at,
            (f"every hour at minute {shown}", f"every day at 09:{shown:02}"),
        )
    if draft.window is None:
        return clock(draft.hours, minutes, seconds)
    opens, closes = _window(reader, draft)
    if closes < opens:
        reader.refuse("A window over midnight does not go with minutes past the hour.", draft.minutes_at)
    if minutes == (0,) and opens % 3600 == 0 and seconds == (0,):
        return Times(tuple(range(opens, closes + 1, 3600)))
    last = draft.window[1]
    if not last.meridiem and reader.tokens[last.first].kind == "number":  # “hours 9 through 17”
        past = f"{closes // 3600:02}:{minutes[-1]:02}"
        reader.refuse(f"Is {past} still meant? End the window before it, or after it.", last)
    every = [h * 3600 + m * 60 + s for h in range(24) for m in minutes for s in seconds]
    return Times(tuple(time for time in every if opens <= time <= closes))


def _window(reader: TokenReader, draft: Draft) -> tuple[int, int]:
    assert draft.window is not None
    opens, closes = resolve(reader, list(draft.window), None)
    if opens == closes:
        reader.refuse("This window has no length.", draft.window[0].first, until=draft.window[1].last + 1)
    return opens, closes


def _in_a_window(draft: Draft) -> tuple[str, ...]:
    """What “every 3 hours at minute 10” may mean, as a window of the day."""
    hours = (draft.cadence or 0) // 3600
    if draft.minutes is None or len(draft.minutes) != 1 or hours < 1 or 24 % hours:
        return ()
    minute = draft.minutes[0]
    return (f"every {hours} hours from 00:{minute:02} to {24 - hours:02}:{minute:02}",)


def cadenced(
    reader: TokenReader,
    draft: Draft,
    limits: Limits,
    zone: str,
    days: tuple[DayRule, ...],
    every: tuple[int, str] | None,
) -> Piece:
    """Compile a part with an interval of time: within a window, aligned to the clock, or from a start."""
    assert draft.cadence is not None
    at = draft.every or 0
    if draft.times:
        reader.refuse(
            "Every so often, or at that time?",
            draft.times[0].first,
            ("every 2 hours from 09:00 to 17:00", "every day at 09:00"),
            until=draft.times[-1].last + 1,
        )
    if draft.part is not None:
        reader.refuse("Give the hours: a part of the day is no window.", draft.part_at)
    on_the_hour = draft.minutes == (0,) and draft.hours is None and DAY_SECONDS % draft.cadence == 0
    on_the_hour = on_the_hour and draft.cadence % 3600 == 0 and limits.start is None and draft.window is None
    if (draft.minutes is not None or draft.hours is not None) and not on_the_hour:
        reader.refuse("Minutes past the hour go with every hour only.", draft.minutes_at, _in_a_window(draft))
    if draft.seconds is not None:
        if draft.cadence != 60 or draft.window is not None:
            reader.refuse("Seconds go with every minute only.", draft.minutes_at)
        return Piece(Calendar(Hourly(intervals.ALL, draft.seconds), days), every)
    if draft.window is not None:
        return Piece(Calendar(_windowed(reader, draft, draft.cadence, days, limits), days), every)
    return _unbounded(reader, draft.cadence, limits, zone, days, every, at)


def _windowed(
    reader: TokenReader, draft: Draft, cadence: int, days: tuple[DayRule, ...], limits: Limits
) -> Window:
    opens, closes = _window(reader, draft)
    assert draft.window is not None
    first, last = draft.window[0].first, draft.window[1].last + 1
    length = (closes - opens) % DAY_SECONDS
    if cadence > length:
        reader.refuse("The window is shorter than the interval.", first, until=last)
    if limits.start_time:
        reader.refuse("The window says when it starts.", limits.start_at)
    if closes < opens and (days or limits.exceptions or limits.holidays):
        reader.refuse(
            "A window over midnight belongs to the day it opens on, or to both: split it at midnight.",
            first,
            until=last,
        )
    written = f"{opens // 3600:02}:{opens % 3600 // 60:02}"
    if draft.window_word == "between" and intervals.divides_hour(cadence) and opens % cadence:
        reader.refuse(
            f"Counting from {written}, or on the clock? Say “from {written} to” to count from it.",
            first,
            until=last,
        )
    if cadence < 3600 and not intervals.divides_hour(cadence) and closes % 3600 == 59 * 60:
        # Generators that describe cron expressions write this for steps that restart with each hour.
        reader.refuse(f"Counting on from {written}, or anew with each hour?", first, until=last)
    return Window(opens, closes, cadence)


def _unbounded(
    reader: TokenReader,
    cadence: int,
    limits: Limits,
    zone: str,
    days: tuple[DayRule, ...],
    every: tuple[int, str] | None,
    at: int,
) -> Piece:
    info = load_zone(zone)
    start = limits.start
    if days:
        if intervals.divides_hour(cadence):
            phase = to_local(info, seconds_of(start)) % 3600 if isinstance(start, datetime) else 0
            return Piece(Calendar(intervals.hourly(cadence, phase), days), every)
        if isinstance(start, datetime) or cadence >= DAY_SECONDS or DAY_SECONDS % cadence:
            reader.refuse(
                "That interval does not divide the day: counting from when on each of these days?", at
            )
        return Piece(Calendar(Window(0, DAY_SECONDS - 1, cadence), days), every)
    if start is None:
        return Piece(intervals.without_start(cadence, reader.now, zone))
    anchor = (
        seconds_of(start)
        if isinstance(start, datetime)
        else resolve_local(info, day_seconds(start.toordinal())).at
    )
    rule, bound = intervals.anchored(cadence, anchor, zone)
    return Piece(rule, None, intervals.whole_day(bound, zone), anchored=bound is None)
