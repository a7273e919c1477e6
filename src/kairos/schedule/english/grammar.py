"""The English grammar: clauses in any order, each at most once; every token belongs to exactly one clause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english import start_and_end as bounds
from kairos.schedule.english.clauses import (
    read_at,
    read_between,
    read_clock_window,
    read_count,
    read_for,
    read_from,
    read_in,
    read_past_hour,
)
from kairos.schedule.english.compile import compile_parts
from kairos.schedule.english.day_choices import read_day_choice, starts_day_choice
from kairos.schedule.english.draft import DayChoice, Draft, Limits
from kairos.schedule.english.durations import calendar_days, read_span
from kairos.schedule.english.every import read_every
from kairos.schedule.english.exceptions import read_exceptions
from kairos.schedule.english.lexer import Token, lex
from kairos.schedule.english.refusals import refuse_unknown
from kairos.schedule.english.times_of_day import part_of, read_times, starts_range
from kairos.schedule.english.token_reader import TokenReader
from kairos.schedule.english.vocabulary import ENDERS, EXCEPTERS, STARTERS
from kairos.schedule.english.weekday_words import weekdays_of
from kairos.schedule.english.zone_names import read_zone
from kairos.schedule.timezones import load_zone

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from datetime import date

    from kairos.schedule.plan.recurrence import Recurrence

EXCEPTING = (("but", "not"), ("apart", "from"), ("other", "than"), ("not",), ("but", "skip"))
BOUNDERS = {*STARTERS, *ENDERS, *EXCEPTERS, *(words[0] for words in EXCEPTING), "as", "up", "for", "with"}
VERBS = ("run", "runs", "repeat", "repeats", "please")


def parse(text: str, now: int, zone: str, calendars: Mapping[str, Container[date]]) -> Recurrence:
    """Compile an English text relative to the instant `now`, in a zone that the text may override."""
    tokens = lex(text)
    reader, parts, limits = _read(text, tokens, now, zone, calendars)
    if limits.zone is not None and limits.zone != zone:
        # “tomorrow” depends on the zone, which may come last: parse again with the zone.
        zone, dated = limits.zone, reader.dated
        if dated:
            reader, parts, limits = _read(text, tokens, now, zone, calendars)
        else:
            reader = TokenReader(text, tokens, now, load_zone(zone))
    return compile_parts(reader, parts, limits, zone, calendars)


def _read(
    text: str, tokens: list[Token], now: int, zone: str, calendars: Mapping[str, Container[date]]
) -> tuple[TokenReader, list[Draft], Limits]:
    reader = TokenReader(text, tokens, now, load_zone(zone))
    parts, limits = [Draft()], Limits()
    reader.accept(*VERBS)
    if not reader.tokens[reader.index :]:
        reader.refuse("There is nothing here to understand.", 0, ("every day at 09:00", "in 20 minutes"))
    while not reader.done:
        if _read_connector(reader, parts, limits):
            continue
        if not _read_clause(reader, parts[-1], limits, calendars):
            refuse_unknown(reader)
    return reader, parts, limits


def _read_connector(reader: TokenReader, parts: list[Draft], limits: Limits) -> bool:
    """Read a comma or “and”, after which more days, another clause or another part follows."""
    mark = reader.index
    comma = reader.accept(",", ";")
    joined = reader.accept("and", "&")
    also = reader.accept("also") if joined else None
    if comma is None and joined is None:
        return False
    if reader.done or mark == 0:
        reader.refuse(f"“{reader.tokens[mark].raw}” joins nothing here.", mark)
    draft = parts[-1]
    if joined is None:
        if _begins_another_part(reader, draft) and limits == Limits():
            parts.append(Draft())
        return True
    if limits.bounded and (starts_day_choice(reader) or reader.at("every", "each")):
        reader.refuse("Is what came before meant for both parts? Say it at the end.", mark, until=mark + 1)
    draft.joined = True
    draft.loosely = draft.loosely or also is None
    if not (starts_day_choice(reader) or reader.at("every", "each", "on", "once", "in", "at")):
        reader.refuse(
            "“and” joins days to days and times to times; this is neither.", mark, until=reader.index + 1
        )
    complete = bool(draft.times or draft.window or draft.minutes is not None or draft.instant is not None)
    # A time before the days applies to all of them, unless another time follows.
    shared = (
        bool(draft.times and draft.choices) and draft.time_at < draft.choices[0].first and not reader.at("at")
    )
    if (
        complete
        and also is None
        and not shared
        and (draft.choices or draft.period or draft.instant is not None)
    ):
        if limits != Limits():
            reader.refuse(
                "Is what came before meant for both parts? Say it at the end.", mark, until=mark + 1
            )
        parts.append(Draft())
    elif not (draft.choices and (also or starts_day_choice(reader) or reader.at("every", "each", "on"))):
        reader.refuse(
            "“and” joins days to days and times to times; this is neither.", mark, until=reader.index + 1
        )
    return True


def _begins_another_part(reader: TokenReader, draft: Draft) -> bool:
    """Whether weekdays with their own time follow: “every monday at 9am, wednesday at 10am and friday at 11am”."""
    weekdays = bool(draft.choices) and all(choice.weekdays and not choice.date for choice in draft.choices)
    timed = bool(draft.times) and draft.time_at > draft.choices[-1].last if weekdays else False
    return timed and weekdays_of(reader) is not None


def _read_clause(
    reader: TokenReader, draft: Draft, limits: Limits, calendars: Mapping[str, Container[date]]
) -> bool:
    mark = reader.index
    if read_every(reader, draft):
        return True
    if reader.accept("at", "@"):
        return read_at(reader, draft)
    if reader.accept("only"):
        draft.recurring = True
        return reader.at("on", "in", "at")
    if reader.accept("on"):
        return (
            reader.at("every", "each")
            or read_past_hour(reader, draft)
            or read_day_choice(reader, draft)
            or _point_after_preposition(reader, mark)
        )
    if reader.accept("in"):
        return read_in(reader, draft, limits) or _point_after_preposition(reader, mark)
    if reader.accept("between"):
        return read_between(reader, draft, limits, mark) or _point_after_preposition(reader, mark)
    if reader.accept("from"):
        return read_from(reader, draft, limits, mark) or _point_after_preposition(reader, mark)
    return _read_limit(reader, draft, limits, calendars) or _read_clause_without_keyword(
        reader, draft, limits
    )


def _point_after_preposition(reader: TokenReader, mark: int) -> bool:
    """Skip the preposition if nothing was read after it, so that the refusal points at what follows; return False."""
    if reader.index == mark:
        reader.index = mark + 1
    return False


def _read_limit(
    reader: TokenReader, draft: Draft, limits: Limits, calendars: Mapping[str, Container[date]]
) -> bool:
    mark = reader.index
    if reader.peek().text not in BOUNDERS or (reader.at("start", "beginning") and reader.at("of", ahead=1)):
        return False
    if reader.accept(*STARTERS) or reader.accept_phrase("as", "of"):
        reader.accept("from")
        return bounds.read_start(reader, limits, mark, draft.timed)
    if reader.accept(*ENDERS) or reader.accept_phrase("up", "until"):
        return bounds.read_end(reader, limits, mark, draft.timed)
    if reader.accept("for"):
        return read_for(reader, limits, mark)
    if reader.accept_phrase("with", "skipped", "times", "by", "rfc") and reader.peek().text == "5545":
        reader.take()
        if limits.rfc5545_gaps:
            reader.refuse("The rule for skipped times is said twice.", mark)
        limits.rfc5545_gaps = True
        return True
    if reader.accept_phrase("up", "to"):
        return read_count(reader, limits, mark)
    excepting = reader.accept(*EXCEPTERS) is not None or any(
        reader.accept_phrase(*words) for words in EXCEPTING
    )
    if not excepting and reader.at("but") and (starts_day_choice(reader, 1) or reader.at("on", ahead=1)):
        excepting = reader.accept("but") is not None
    if excepting:
        limits.exceptions_at = mark
        read_exceptions(reader, limits, calendars)
        return True
    return False


def _read_clause_without_keyword(reader: TokenReader, draft: Draft, limits: Limits) -> bool:
    """Read a clause without a leading keyword: minutes, times, windows, counts, delays, days, zones."""
    mark = reader.index
    if reader.kind("instant"):
        if draft.instant is not None:
            reader.refuse("The instant is said twice.", mark)
        draft.instant = bounds.read_instant(reader)
        return True
    if read_past_hour(reader, draft) or read_count(reader, limits, mark):
        return True
    if _read_delay(reader, draft):
        return True
    if read_clock_window(reader, draft, "", mark):
        return True
    if read_day_choice(reader, draft):
        return True
    part = part_of(reader.peek().text) if reader.kind("word") else None
    if part is not None and draft.part is None and (draft.choices or draft.times):
        draft.part, draft.part_at = part, mark
        reader.take()
        return True
    times = read_times(reader, allow_bare=_day_part_follows(reader))
    if times and not starts_range(reader):
        if draft.times:
            reader.refuse("The time is said twice.", mark, until=reader.index)
        draft.times, draft.time_at = times, mark
        return True
    reader.index = mark
    return read_zone(reader, limits, after_in=False)


def _day_part_follows(reader: TokenReader) -> bool:
    """Whether a part of the day follows, so that a bare hour can be a time: “8 tonight”, “3 in the afternoon”."""
    words = [reader.peek(ahead).text for ahead in range(1, 5)]
    if words[0] == "oclock":
        words.pop(0)
    if words[0] in ("tonight", "in", "this", "tomorrow", "today"):
        return words[0] == "tonight" or any(part_of(word) for word in words[1:3])
    return False


def _read_delay(reader: TokenReader, draft: Draft) -> bool:
    """Read a delay: “20 minutes from now”, “a week from monday”."""
    mark = reader.index
    span = read_span(reader)
    if span is None or not reader.accept("from"):
        reader.index = mark
        return False
    if reader.accept("now") or reader.accept_phrase("right", "now"):
        if draft.delay is not None:
            reader.refuse("The delay is said twice.", mark)
        draft.delay, draft.delay_at = span, mark
        return True
    day = bounds.read_day(reader)
    later = calendar_days(span, day) if day is not None else None
    if later is None:
        reader.index = mark
        return False
    draft.add(reader, DayChoice(mark, reader.index - 1, date=later))
    return True
