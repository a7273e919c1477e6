"""Days that do not follow “every”: today, a date, a weekday, the n-th of something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.dates import read_annual, starts_named_day
from kairos.schedule.english.draft import DayChoice, Ordinal, Scope
from kairos.schedule.english.number_lists import read_numbers
from kairos.schedule.english.ordinals import read_ordinal_list, read_ordinals, read_scope
from kairos.schedule.english.start_and_end import read_after_weekday, read_day, refuse_next
from kairos.schedule.english.times_of_day import part_of
from kairos.schedule.english.vocabulary import MONTHS
from kairos.schedule.english.weekday_words import RANGES, weekdays_of
from kairos.schedule.english.weekdays import read_weekdays
from kairos.schedule.plan.days import monday_of

if TYPE_CHECKING:
    from datetime import date

    from kairos.schedule.english.draft import Draft
    from kairos.schedule.english.token_reader import TokenReader


def starts_day_choice(reader: TokenReader, ahead: int = 0) -> bool:
    """Whether a choice of days can begin here."""
    token = reader.peek(ahead)
    return (
        token.kind in ("ordinal", "date", "slashed")
        or weekdays_of(reader, ahead) is not None
        or (
            token.kind == "word"
            and token.text in (*MONTHS, "the", "last", "today", "tomorrow", "day", "days")
        )
        or (token.kind == "number" and reader.peek(ahead + 1).text in MONTHS)
        or starts_named_day(reader, ahead)
    )


def read_day_choice(reader: TokenReader, draft: Draft) -> bool:
    """Read a choice of days and add it to the draft."""
    mark = reader.index
    choice = _this_or_next(reader, draft) or _single(reader, draft)
    if choice is None:
        reader.index = mark
        annual = read_annual(reader)
        choice = (
            annual
            or _edge(reader)
            or _numbered_days(reader)
            or _nearest(reader)
            or read_ordinals(reader)
            or _weekdays(reader)
        )
    if choice is None:
        reader.index = mark
        return False
    draft.add(reader, choice)
    part = part_of(reader.peek().text) if reader.kind("word") else None
    if part is not None:
        if draft.part is not None:
            reader.refuse("The part of the day is said twice.")
        draft.part, draft.part_at = part, reader.index
        draft.recurring = draft.recurring or reader.peek().text != part
        reader.take()
    return True


def _single(reader: TokenReader, draft: Draft) -> DayChoice | None:
    mark = reader.index
    if reader.accept("tonight"):
        if draft.part is not None:
            reader.refuse("The part of the day is said twice.", mark)
        draft.part, draft.part_at = "night", mark
        return DayChoice(mark, mark, date=reader.today)
    day: date | None = None
    if reader.at("today", "tomorrow") or reader.kind("date", "slashed"):
        day = read_day(reader)
    elif reader.at("day") or (reader.at("the") and reader.at("day", ahead=1)):
        reader.accept("the")
        if reader.accept_phrase("day", "after", "tomorrow"):
            day = reader.in_days(2)
    if day is None:
        reader.index = mark
        return None
    return DayChoice(mark, reader.index - 1, date=day)


def _this_or_next(reader: TokenReader, draft: Draft) -> DayChoice | None:
    mark = reader.index
    word = reader.accept("this", "next", "coming", "last")
    if word is None:
        return None
    if word.text == "this" and reader.at("morning", "afternoon", "evening"):
        if draft.part is not None:
            reader.refuse("The part of the day is said twice.", mark)
        draft.part, draft.part_at = reader.take().text, mark
        return DayChoice(mark, reader.index - 1, date=reader.today)
    weekday = weekdays_of(reader)
    if weekday is not None and len(weekday[0]) == 1 and not weekday[1]:
        if word.text == "last":
            reader.index = mark
            return None
        if word.text == "next":
            refuse_next(reader, mark)
        reader.take()
        return DayChoice(mark, reader.index - 1, date=_in_week(reader, weekday[0][0], 0, mark))
    if word.text in ("next", "this") and reader.accept("week"):
        reader.accept("on")
        weekday = weekdays_of(reader)
        if weekday is None or len(weekday[0]) != 1:
            reader.refuse(f"“{word.text} week” is a period: on which day, at what time?", mark)
        reader.take()
        return DayChoice(
            mark, reader.index - 1, date=_in_week(reader, weekday[0][0], int(word.text == "next"), mark)
        )
    if word.text in ("next", "this") and reader.accept("month"):
        reader.accept("on")
        reader.accept("the")
        choice = read_ordinals(reader)
        if choice is None or choice.scope is not None:
            reader.refuse(
                f"“{word.text} month” is a period: on which day, at what time?", mark, until=mark + 2
            )
        months = reader.today.year * 12 + reader.today.month - 1 + (word.text == "next")
        scope = Scope("concrete", (months % 12 + 1,), year=months // 12)
        return DayChoice(mark, reader.index - 1, ordinals=choice.ordinals, scope=scope)
    reader.index = mark
    return None


def _in_week(reader: TokenReader, weekday: int, weeks: int, mark: int) -> date:
    """A weekday of this or the next week; refused if it depends on whether weeks begin on Sunday."""
    if weekday == 6 or reader.today.weekday() == 6:
        reader.refuse(
            "Whether a week begins on Sunday or Monday makes this two different days: give the date.", mark
        )
    day = monday_of(reader.today).toordinal() + 7 * weeks + weekday
    if day < reader.today.toordinal():
        reader.refuse("That day of this week is over.", mark)
    return type(reader.today).fromordinal(day)


def _weekdays(reader: TokenReader) -> DayChoice | None:
    mark = reader.index
    found = weekdays_of(reader)
    if found is not None and len(found[0]) == 1 and not found[1]:
        reader.take()
        exact = read_after_weekday(reader, found[0][0], mark)
        if exact is not None:
            return DayChoice(mark, reader.index - 1, date=exact)
        before = reader.index
        reader.accept("of", "in")
        which = reader.accept("next", "this")
        if which and reader.accept("week"):
            day = _in_week(reader, found[0][0], int(which.text == "next"), mark)
            return DayChoice(mark, reader.index - 1, date=day)
        reader.index = before
        if reader.kind("ordinal") and not reader.at("of", ahead=1):
            ordinal = reader.take()
            return DayChoice(mark, reader.index - 1, found[0], ordinals=(Ordinal(ordinal.value, "day"),))
        reader.index = mark
    return read_weekdays(reader)


def _edge(reader: TokenReader) -> DayChoice | None:
    """Read “the end of each month” as its last day."""
    mark = reader.index
    reader.accept("the")
    word = reader.accept("start", "beginning", "end")
    scope = read_scope(reader) if word else None
    if word is None or scope is None or scope.kind not in ("month", "quarter", "year", "step"):
        reader.index = mark
        return None
    return DayChoice(
        mark, reader.index - 1, ordinals=(Ordinal(-1 if word.text == "end" else 1, "day"),), scope=scope
    )


def _numbered_days(reader: TokenReader) -> DayChoice | None:
    """Read numbered days: “day 15 of the month”, “days 1, 15”."""
    mark = reader.index
    reader.accept("the")
    if not reader.accept("day", "days") or not reader.kind("number"):
        reader.index = mark
        return None
    days = read_numbers(reader, 1, 31, "Days of the month go from 1 to 31, upwards.")
    if not days:
        reader.index = mark
        return None
    scope = read_scope(reader)
    return DayChoice(mark, reader.index - 1, ordinals=tuple(Ordinal(n, "day") for n in days), scope=scope)


def _nearest(reader: TokenReader) -> DayChoice | None:
    """Read “the weekday nearest the 15th of each month”."""
    mark = reader.index
    reader.accept("the")
    if not (reader.accept("weekday", "workday") and reader.accept("nearest")):
        reader.index = mark
        return None
    reader.accept("to")
    reader.accept("the")
    numbered = reader.accept("day") is not None and reader.kind("number")
    days = [reader.take().value] if numbered else read_ordinal_list(reader)
    if not days or not all(1 <= day <= 31 for day in days):
        reader.refuse("Nearest to which day of the month?")
    scope = read_scope(reader)
    return DayChoice(
        mark, reader.index - 1, ordinals=tuple(Ordinal(day, "nearest") for day in days), scope=scope
    )


def read_day_range(reader: TokenReader, draft: Draft) -> bool:
    """Read a range of days after “from”: “monday to friday”, “the 25th to the last”."""
    mark = reader.index
    if weekdays_of(reader) is not None:
        choice = read_weekdays(reader, joined=False)
        if choice is not None and choice.plural and len(choice.weekdays) > 1:
            draft.add(reader, choice)
            return True
    reader.index = mark
    reader.accept("the")
    if reader.kind("ordinal") and reader.at(*RANGES, ahead=1):
        choice = read_ordinals(reader, ranged=True)
        if choice is not None and len(choice.ordinals) > 1:
            draft.add(reader, choice)
            return True
    reader.index = mark
    return False
