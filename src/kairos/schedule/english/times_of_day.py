"""Times of day, windows within a day, and minutes past the hour."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kairos.schedule.english.draft import ClockTime
from kairos.schedule.english.vocabulary import DAY_PARTS, MONTHS, NAMED_TIMES, PLURAL_DAY_PARTS, UNITS
from kairos.schedule.english.weekday_words import RANGES

if TYPE_CHECKING:
    from kairos.schedule.english.lexer import Token
    from kairos.schedule.english.token_reader import TokenReader

BETWEEN = ("and", "to", "-", "–", "—")
HOURS_OF: dict[str, tuple[int, ...]] = {
    "morning": tuple(range(12)),
    "afternoon": tuple(range(12, 19)),
    "evening": tuple(range(16, 24)),
    "night": (*range(18, 24), *range(6)),
}


def read_time(reader: TokenReader, allow_bare: bool) -> ClockTime | None:
    """Read a time of day; return None and consume nothing if there is none."""
    mark = reader.index
    reader.accept("exactly")
    found = _relative(reader) or _plain(reader, allow_bare)
    if found is None:
        reader.index = mark
        return None
    reader.accept("sharp")
    part = read_day_part(reader)
    return replace(found, first=mark, last=reader.index - 1, part=part)


def read_day_part(reader: TokenReader) -> str | None:
    """Read a part of the day: “in the morning”, “at night”."""
    mark = reader.index
    if reader.accept("in"):
        reader.accept("the")
    elif not (reader.at("at") and reader.at("night", ahead=1) and reader.accept("at")):
        return None
    token = reader.peek()
    if token.text in DAY_PARTS and not (token.text == "night" and reader.tokens[mark].text == "in"):
        return reader.take().text
    reader.index = mark
    return None


def _relative(reader: TokenReader) -> ClockTime | None:
    """Read a time relative to an hour: “half past 3pm”, “a quarter to noon”, “20 minutes past 3pm”."""
    mark = reader.index
    if reader.at("quarter", ahead=1):
        reader.accept("a")
    token = reader.peek()
    if reader.accept("half"):
        minutes = 30
    elif reader.accept("quarter"):
        minutes = 15
    elif token.kind == "number" and token.text.isascii() and 0 < token.value < 60 and "." not in token.text:
        reader.take()
        minutes = token.value
        said = reader.accept("minutes", "minute", "mins", "min")
        if said is None and not reader.at("past", "after") and not _spelled_before_hour(reader, token, mark):
            reader.index = mark  # “9 to 5pm” is a window, not 16:51
            return None
    else:
        return None
    direction = reader.accept("past", "after", "to", "till", "before")
    if direction is None or (token.text == "half" and direction.text not in ("past", "after")):
        reader.index = mark
        return None
    hour = _plain(reader, allow_bare=True)
    if hour is None or hour.minute or hour.second or (direction.text == "to" and hour.bare):
        reader.index = mark
        return None
    sign = 1 if direction.text in ("past", "after") else -1
    total = (hour.hour * 60 + sign * minutes) % 1440
    if hour.bare and sign < 0:
        reader.index = mark
        return None
    return ClockTime(total // 60, total % 60, 0, hour.bare, mark, reader.index - 1, hour.meridiem)


def _spelled_before_hour(reader: TokenReader, minutes: Token, mark: int) -> bool:
    """Whether these are minutes before an hour, as in “at ten to eight am”, and not the start of a window."""
    after_at = mark > 0 and reader.tokens[mark - 1].text in ("at", "@")
    return after_at and minutes.spelled and minutes.value in (5, 10, 20, 25) and reader.at("to", "before")


def _plain(reader: TokenReader, allow_bare: bool) -> ClockTime | None:
    mark = reader.index
    token = reader.peek()
    if token.text in NAMED_TIMES and token.kind == "word":
        reader.take()
        return ClockTime(NAMED_TIMES[token.text], 0, 0, False, mark, mark, True, token.text == "midnight")
    if token.kind == "clock":
        return _clock(reader)
    if token.kind != "number":
        return None
    following = reader.peek(1)
    if following.kind == "meridiem":
        return _twelve_hour(reader)
    if following.text in NAMED_TIMES:
        if token.value != 12 or token.text not in ("12", "twelve"):
            reader.refuse(f"“{token.raw} {following.raw}” is no time of day.", until=reader.index + 2)
        reader.index += 2
        hour = NAMED_TIMES[following.text]
        return ClockTime(hour, 0, 0, False, mark, mark + 1, True, following.text == "midnight")
    if following.text == "oclock":
        return _oclock(reader)
    if token.spelled and following.spelled and 9 < following.value < 60 and reader.kind("meridiem", ahead=2):
        return _spelled(reader)
    if "." in token.text:
        return _dotted(reader) if allow_bare else None
    continental = following.text == "h" and following.glued and 12 < token.value < 24
    return _bare(reader) if allow_bare or continental else None


def _clock(reader: TokenReader) -> ClockTime:
    mark = reader.index
    token = reader.take()
    pieces = [int(piece) for piece in token.text.split(":")]
    hour, minute, second = pieces[0], pieces[1], pieces[2] if len(pieces) > 2 else 0
    if minute > 59 or second > 59:
        reader.refuse(f"{token.raw} is no time of day: minutes and seconds go to 59.", mark)
    if reader.kind("meridiem"):
        return _meridiem(reader, mark, hour, minute, second)
    if reader.at(*NAMED_TIMES):
        named = reader.take()
        if hour != 12 or minute or second:
            reader.refuse(f"“{token.raw} {named.raw}” is no time of day.", mark)
        return ClockTime(NAMED_TIMES[named.text], 0, 0, False, mark, mark + 1, True, named.text == "midnight")
    if hour > 23:
        reader.refuse(f"{token.raw} is no time of day: hours go to 23.", mark, ("every day at 00:00",))
    reader.accept("hours", "hrs")
    bare = 0 < hour < 10 and not token.raw.startswith("0") and "h" not in token.raw.lower()
    return ClockTime(hour, minute, second, bare, mark, reader.index - 1)


def _twelve_hour(reader: TokenReader) -> ClockTime:
    mark = reader.index
    token = reader.take()
    hour, minute = token.value, 0
    if "." in token.text:
        whole, _, fraction = token.text.partition(".")
        if len(fraction) != 2 or int(fraction) > 59:
            reader.refuse(f"{token.raw} is no time of day.", mark)
        hour, minute = int(whole), int(fraction)
    elif not token.spelled and len(token.raw) in (3, 4):
        hour, minute = divmod(token.value, 100)
    if minute > 59:
        reader.refuse(f"{token.raw} is no time of day: minutes go to 59.", mark)
    return _meridiem(reader, mark, hour, minute, 0)


def _meridiem(reader: TokenReader, mark: int, hour: int, minute: int, second: int) -> ClockTime:
    meridiem = reader.take()
    if not 1 <= hour <= 12:
        reader.refuse(f"{hour} {meridiem.text} is no time of day: with am or pm hours go from 1 to 12.", mark)
    hour = hour % 12 + (12 if meridiem.text == "pm" else 0)
    return ClockTime(hour, minute, second, False, mark, mark + 1, True)


def _oclock(reader: TokenReader) -> ClockTime:
    mark = reader.index
    token = reader.take()
    reader.take()
    if not 1 <= token.value <= 12:
        reader.refuse(f"“{token.raw} o'clock” is no time of day.", mark)
    if reader.kind("meridiem"):
        return _meridiem(reader, mark, token.value, 0, 0)
    return ClockTime(token.value, 0, 0, True, mark, mark + 1)


def _spelled(reader: TokenReader) -> ClockTime:
    mark = reader.index
    hour, minute = reader.take(), reader.take()
    return _meridiem(reader, mark, hour.value, minute.value, 0)


def _dotted(reader: TokenReader) -> ClockTime | None:
    """Read a time with a dot, as in British usage: “17.30”. 9.30 is as bare as 9:30; “1.5 hours” is no time."""
    mark = reader.index
    whole, _, fraction = reader.peek().text.partition(".")
    if len(whole) > 2 or len(fraction) != 2 or reader.peek(1).text in UNITS:
        return None
    token = reader.take()
    hour, minute = int(whole), int(fraction)
    if hour > 23 or minute > 59:
        reader.refuse(f"{token.raw} is no time of day.", mark)
    return ClockTime(hour, minute, 0, 0 < hour < 10 and not whole.startswith("0"), mark, mark)


def _bare(reader: TokenReader) -> ClockTime | None:
    """Read a bare hour (9, 17) or four digits (0930), which is a time only where one is expected."""
    mark = reader.index
    token, following = reader.peek(), reader.peek(1)
    named = following.text in UNITS and following.text not in ("hours", "hrs") and following.text != "h"
    if (
        named
        or following.text in MONTHS
        or following.text in ("times", "x", "past", "after")
        or following.kind == "date"
    ):
        return None
    if not token.spelled and len(token.raw) == 4:
        hour, minute = divmod(token.value, 100)
        before = reader.tokens[mark - 1].text if mark else ""
        if before in ("and", ",") and mark > 1 and len(reader.tokens[mark - 2].raw) == 4:
            before = "at"
        marked = before in ("at", "@") or token.raw.startswith("0") or following.text in ("hours", "hrs", "h")
        if not marked:
            return None  # “until 2027” is a year
        reader.take()
        if hour > 23 or minute > 59:
            reader.refuse(f"{token.raw} is no time of day.", mark)
        reader.accept("hours", "hrs", "h")
        return ClockTime(hour, minute, 0, False, mark, reader.index - 1)
    if following.text == "h" and following.glued and not token.spelled and token.value < 24:
        reader.index += 2
        return ClockTime(token.value, 0, 0, False, mark, mark + 1)
    if following.text in UNITS or (not token.spelled and len(token.raw) > 2):
        return None
    reader.take()
    if token.value > 23:
        reader.refuse(f"{token.raw} is no hour: hours go to 23.", mark)
    return ClockTime(token.value, 0, 0, token.value < 13, mark, mark)


def read_times(reader: TokenReader, allow_bare: bool) -> list[ClockTime]:
    """Read times joined by commas and “and”."""
    first = read_time(reader, allow_bare)
    if first is None:
        return []
    times = [first]
    while True:
        mark = reader.index
        if not reader.accept_separator():
            return times
        reader.accept("again")
        reader.accept("at", "@")
        after = read_time(reader, allow_bare)
        if after is None or starts_range(reader):
            reader.index = mark
            return times
        times.append(after)


def starts_range(reader: TokenReader) -> bool:
    """Whether a range word follows, so that the time before it is the start of a window."""
    return reader.at("-", "–", "—", "to", "through", "thru")


def resolve(reader: TokenReader, times: list[ClockTime], part: str | None) -> list[int]:
    """Return seconds of the day; refuse an hour that could be am or pm."""
    clear = [time for time in times if not time.bare]
    by_24 = any(time.hour > 12 and not time.meridiem for time in times) and not any(
        time.meridiem for time in times
    )
    found: list[int] = []
    for time in times:
        day_part = time.part or part
        if day_part is not None:
            found.append(_in_part(reader, time, day_part))
        elif not time.bare or (by_24 and clear):
            found.append(time.seconds)
        else:
            shown = f"{time.hour:02}:{time.minute:02}"
            other = f"{(time.hour + 12) % 24:02}:{time.minute:02}"
            reader.refuse(
                f"This is {shown} or {other}: am or pm?",
                time,
                tuple(_replaced(reader, time, written) for written in (shown, other)),
            )
    return found


def check_night(reader: TokenReader, times: list[ClockTime], found: list[int]) -> None:
    """Refuse “friday night at 1am”, which may be on Friday or on Saturday."""
    for time in times:
        if any(second < 6 * 3600 for second in found):
            reader.refuse("The small hours of that day, or of the one after? Leave out “night”.", time)


def _in_part(reader: TokenReader, time: ClockTime, part: str) -> int:
    hours = DAY_PARTS[part]
    # 10:30 is clear by itself, but ambiguous beside “evening” or “night”.
    if time.bare or (10 <= time.hour <= 12 and not time.meridiem):
        if time.hour not in hours or (time.hour == 12 and not time.minute):
            clear = tuple(f"{hour % 24:02}:{time.minute:02}" for hour in (time.hour, time.hour + 12))
            reader.refuse(
                f"{time.hour} is no clear hour of the {part}.",
                time,
                tuple(_replaced(reader, time, written) for written in clear),
            )
        return hours[time.hour] * 3600 + time.seconds % 3600
    if time.hour not in HOURS_OF[part]:
        reader.refuse(f"That time is not in the {part}.", time)
    return time.seconds


def _replaced(reader: TokenReader, time: ClockTime, written: str) -> str:
    start, end = reader.tokens[time.first].start, reader.tokens[time.last].end
    return f"{reader.text[:start]}{written}{reader.text[end:]}".strip()


def read_window(reader: TokenReader, opener: str) -> tuple[ClockTime, ClockTime] | None:
    """Read the two times of a window after “between”, “from” or no word."""
    mark = reader.index
    bare = bool(opener)
    joiners = BETWEEN if opener == "between" else RANGES
    if not reader.ahead_of(joiners):
        return None
    opens = read_time(reader, bare or _number_range(reader))
    if opens is None or not reader.accept(*joiners):
        reader.index = mark
        return None
    reader.accept("at")
    closes = read_time(reader, True)
    if closes is None:
        reader.index = mark
        return None
    return opens, closes


def _number_range(reader: TokenReader) -> bool:
    return reader.kind("number") and reader.at("-", "–", "to", ahead=1) and reader.kind("number", ahead=2)


def part_of(text: str) -> str | None:
    """The part of the day a word names, in the singular or the plural."""
    return text if text in DAY_PARTS else PLURAL_DAY_PARTS.get(text)
