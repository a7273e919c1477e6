"""How often: “every 15 minutes”, “each weekday”, “every other friday”, “every july 4th”, “once a week”."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kairos.schedule.english.dates import read_annual, read_months
from kairos.schedule.english.draft import Scope
from kairos.schedule.english.durations import read_span, read_unit
from kairos.schedule.english.ordinals import read_ordinals
from kairos.schedule.english.refusals import refuse_rate, refuse_unknown
from kairos.schedule.english.times_of_day import part_of
from kairos.schedule.english.vocabulary import FREQUENCIES, MONTHS, NAMED_TIMES, UNIT_SECONDS, UNITS
from kairos.schedule.english.weekday_words import weekdays_of
from kairos.schedule.english.weekdays import read_weekdays

if TYPE_CHECKING:
    from kairos.schedule.english.draft import DayChoice, Draft
    from kairos.schedule.english.token_reader import TokenReader

MAX_EVERY = 100_000
COUNTS = {"once": 1, "twice": 2, "thrice": 3}


def read_every(reader: TokenReader, draft: Draft) -> bool:
    """Read a clause that says how often; consume nothing if there is none."""
    mark = reader.index
    token = reader.peek()
    if token.text == "everyday" and token.kind == "word":
        reader.take()
        _set_period(reader, draft, 1, "day", mark)
        return True
    if token.text in FREQUENCIES and token.kind == "word":
        reader.take()
        _set(reader, draft, *FREQUENCIES[token.text], mark)
        return True
    if _read_rate(reader, draft):
        return True
    if reader.accept("once"):  # “once every hour” recurs; “once” alone means a single instant
        draft.once = draft.once or not reader.at("every", "each")
        return True
    if reader.at("alternate") and (weekdays_of(reader, ahead=1) or reader.at("days", ahead=1)):
        reader.take()
        return _read_every_nth(reader, draft, 2, mark)
    if token.text not in ("every", "each"):
        return False
    reader.take()
    reader.accept("single")
    draft.recurs(mark)
    if not _read_after_every(reader, draft, mark):
        if reader.done:
            reader.refuse("Every what?", mark, ("every day at 09:00",))
        refuse_unknown(reader)
    return True


def _read_rate(reader: TokenReader, draft: Draft) -> bool:
    """Read “once a week”, “twice a day”, “3 times a month”; as many days or times must be named."""
    mark = reader.index
    token = reader.take()
    count = COUNTS.get(token.text, 0)
    if token.kind == "number" and reader.accept("times", "time", "x"):
        count = token.value
    said = reader.index
    if not count:
        reader.index = mark
        return False
    frequency = reader.peek()
    if frequency.text in FREQUENCIES and frequency.kind == "word":
        reader.take()
        every, unit = FREQUENCIES[frequency.text]
    elif reader.accept("a", "an", "per"):
        every, unit = 1, read_unit(reader) or reader.refuse("How often per what?")
    else:
        reader.index = mark
        return False
    if count > 1 and (every > 1 or unit not in ("day", "week", "month", "year")):
        refuse_rate(reader, mark, said)
    _set(reader, draft, every, unit, mark)
    draft.rate = (count, unit, mark, said)
    return True


def _read_after_every(reader: TokenReader, draft: Draft, mark: int) -> bool:
    token = reader.peek()
    if reader.accept("other", "alternate"):
        return _read_every_nth(reader, draft, 2, mark)
    if token.kind == "ordinal" and _counts_units(reader):
        return _read_nth_unit(reader, draft, mark)
    if token.kind == "number" or token.text in ("half", "quarter"):
        return _read_number(reader, draft, mark)
    if token.text in NAMED_TIMES:
        _set_period(reader, draft, 1, "day", mark)  # “every midnight”: the time is read next
        return True
    part = part_of(token.text) if token.kind == "word" else None
    if part is not None:
        reader.take()
        _set_period(reader, draft, 1, "day", mark)
        draft.part, draft.part_at = part, mark
        return True
    if token.text == "second" and weekdays_of(reader, ahead=1) is not None:
        return _read_days(reader, draft)  # “every second tuesday of the month”
    unit = read_unit(reader)
    if unit is not None:
        if token.text.endswith("s") and len(token.text) > 1:
            reader.refuse(f"Every how many {token.text}?", mark, (f"every 5 {token.text}", f"every {unit}"))
        if (
            reader.at("and")
            and reader.at("a", ahead=1)
            and reader.at("half", ahead=2)
            and unit in UNIT_SECONDS
        ):
            reader.index += 3
            _set_cadence(reader, draft, UNIT_SECONDS[unit] * 3 // 2, mark)
        else:
            _set(reader, draft, 1, unit, mark)
        return True
    return _read_days(reader, draft)


def _counts_units(reader: TokenReader) -> bool:
    """Whether the ordinal counts units, as in “every second week”, and is not “every 2nd friday of the month”."""
    if reader.peek().text == "second" and (reader.done or not reader.kind("word", "ordinal", ahead=1)):
        return False
    following = reader.peek(1)
    if following.text in UNITS and following.kind in ("word", "ordinal"):
        return not (following.text in ("day", "days") and reader.at("of", "in", ahead=2))
    if weekdays_of(reader, ahead=1) is None:
        return False
    size = weekdays_of(reader, ahead=1)
    after = 1 + (size[2] if size else 1)
    if reader.at("and", ",", ahead=after):
        return not _more_ordinals_follow(reader, after)
    return not reader.at("of", "in", ahead=after)


def _more_ordinals_follow(reader: TokenReader, ahead: int) -> bool:
    """Whether more ordinals follow, as in “every first friday and third monday of the month”."""
    return reader.kind("ordinal", ahead=ahead + 1) or reader.at("last", "the", ahead=ahead + 1)


def _read_nth_unit(reader: TokenReader, draft: Draft, mark: int) -> bool:
    """Read an ordinal before a unit, as in “every second week”; refuse what may be a day or a weekday of the month."""
    token = reader.take()
    following = reader.peek()
    if following.text in ("day", "days"):
        reader.refuse(
            f"“every {token.raw} day” is every {token.value} days to some and a day of the month to others.",
            mark,
            (f"every {token.value} days at 09:00", f"on day {token.value} of each month at 09:00"),
            until=reader.index + 1,
        )
    weekday = weekdays_of(reader)
    if weekday is not None and token.value == 1:
        reader.refuse(
            f"“every first {following.raw}” of what?",
            mark,
            (f"on the first {following.raw} of each month at 09:00",),
            until=reader.index + 1,
        )
    if weekday is not None:
        name = following.raw
        reader.refuse(
            f"“every {token.raw} {name}” is every {token.value} weeks to some and one {name} a month to others.",
            mark,
            (
                *reader.rewritten(mark, reader.index + 1, f"every {token.value} weeks on {name}"),
                *reader.rewritten(mark, reader.index + 1, f"on the {token.raw} {name} of each month"),
            ),
            until=reader.index + 1,
        )
    return _read_every_nth(reader, draft, token.value, mark)


def _read_number(reader: TokenReader, draft: Draft, mark: int) -> bool:
    token = reader.peek()
    if token.kind == "number" and weekdays_of(reader, ahead=1) is not None:
        reader.take()
        return _read_every_nth(reader, draft, token.value, mark)
    if token.text == "quarter" and not reader.at("hour", ahead=1) and not reader.at("of", ahead=1):
        reader.take()
        _set(reader, draft, 1, "quarter", mark)
        return True
    if reader.accept_phrase("quarter", "hour") or reader.accept_phrase("quarter", "of", "an", "hour"):
        _set_cadence(reader, draft, 900, mark)
        return True
    if token.kind == "number" and reader.peek(1).text in MONTHS:
        return _read_days(reader, draft)
    span = read_span(reader)
    if span is None:
        return False
    if len(span) == 1 and span[0][1] not in UNIT_SECONDS:
        amount, unit = span[0]
        if amount != int(amount):
            reader.refuse(f"Half a {unit} is not a whole number of days.", mark)
        _set(reader, draft, int(amount), unit, mark)
        return True
    seconds = 0.0
    for amount, unit in span:
        if unit not in UNIT_SECONDS:
            reader.refuse("Mixing days and longer with hours leaves daylight saving open.", mark)
        seconds += amount * UNIT_SECONDS[unit]
    if seconds != int(seconds):
        reader.refuse("Less than whole seconds cannot be scheduled.", mark)
    _set_cadence(reader, draft, int(seconds), mark)
    return True


def _read_every_nth(reader: TokenReader, draft: Draft, every: int, mark: int) -> bool:
    """Read the unit or the weekday of which every n-th is meant."""
    unit = read_unit(reader)
    if unit is not None:
        _set(reader, draft, every, unit, mark)
        return True
    named = weekdays_of(reader)
    if named is None:
        return False
    if named[0] == (0, 1, 2, 3, 4):
        reader.refuse(
            "Every other weekday: which ones?", mark, ("every monday, wednesday and friday at 09:00",)
        )
    choice = read_weekdays(reader)
    if choice is None:
        return False
    if len(choice.weekdays) > 1 and choice.weekdays != (5, 6) and every > 1:
        reader.refuse(
            "Every other week on these days, or every other one of them?",
            mark,
            (f"every {every} weeks on monday and friday at 09:00",),
        )
    _set_period(reader, draft, every, "week", mark)
    draft.add(reader, choice)
    return True


def _read_days(reader: TokenReader, draft: Draft) -> bool:
    """Read the weekday, ordinal, date or months after “every”."""
    mark = reader.index
    for read in (read_annual, read_ordinals, read_weekdays):
        choice = read(reader)
        if choice is not None:
            _refuse_nth_day(reader, mark, choice)
            choice = _of_each_month(reader, choice)
            draft.add(reader, choice)
            _read_day_part(reader, draft)
            return True
    months = read_months(reader)
    if not months:
        return False
    if draft.months:
        reader.refuse("The months are said twice.")
    draft.months = months
    draft.months_at = reader.index - 1
    return True


def _of_each_month(reader: TokenReader, choice: DayChoice) -> DayChoice:
    """Let “every 1st and 15th” mean days of each month."""
    bare = (
        choice.scope is None
        and choice.ordinals
        and not choice.weekdays
        and reader.tokens[choice.last].kind == "ordinal"
    )
    if (
        not bare
        or any(item.noun != "day" for item in choice.ordinals)
        or reader.tokens[choice.last].text == "second"
    ):
        return choice
    return replace(choice, scope=Scope("month", each=False))


def _refuse_nth_day(reader: TokenReader, mark: int, choice: DayChoice) -> None:
    """Refuse “every fifth day of the month”, which may be the 5th or every fifth day from the 1st."""
    one = choice.ordinals[0] if len(choice.ordinals) == 1 and not choice.weekdays else None
    if (
        one is not None
        and one.n > 1
        and one.noun == "day"
        and reader.at("day", "days", ahead=mark + 1 - reader.index)
    ):
        reader.refuse(
            f"“every {reader.tokens[mark].raw} day of the month” is one day to some, every {one.n} days to others.",
            mark,
            (f"on day {one.n} of each month at 09:00", f"every {one.n} days at 09:00"),
            until=choice.last + 1,
        )


def _read_day_part(reader: TokenReader, draft: Draft) -> None:
    part = part_of(reader.peek().text) if reader.kind("word") else None
    if part is not None:
        draft.part, draft.part_at = part, reader.index
        reader.take()


def _set(reader: TokenReader, draft: Draft, every: int, unit: str, mark: int) -> None:
    """Record how often: as seconds of elapsed time, or as a period of days or longer."""
    if unit in UNIT_SECONDS:
        _set_cadence(reader, draft, every * UNIT_SECONDS[unit], mark)
    elif unit == "fortnight":
        _set_period(reader, draft, every * 2, "week", mark)
    else:
        _set_period(reader, draft, every, unit, mark)


def _set_cadence(reader: TokenReader, draft: Draft, seconds: int, mark: int) -> None:
    if seconds <= 0:
        reader.refuse("An interval of zero is no interval.", mark, ("every minute", "every 5 minutes"))
    if seconds > MAX_EVERY * 3600:
        reader.refuse("That is longer than an interval may be.", mark)
    if draft.cadence is not None:
        reader.refuse("How often is said twice.", mark)
    draft.cadence = seconds
    draft.recurs(mark)


def _set_period(reader: TokenReader, draft: Draft, every: int, unit: str, mark: int) -> None:
    if every <= 0:
        reader.refuse("An interval of zero is no interval.", mark, ("every day at 09:00",))
    if every > 1_000:
        reader.refuse("That is longer than an interval may be.", mark)
    if draft.period is not None:
        reader.refuse("How often is said twice.", mark)
    draft.period = (every, unit)
    draft.recurs(mark)
