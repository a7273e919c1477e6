"""Compile a single instant; refuse local times that are skipped, repeated, past or ambiguous."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from kairos.schedule.english.compile_ordinals import ordinal_rules
from kairos.schedule.english.durations import WHOLE_DAYS, WHOLE_MONTHS
from kairos.schedule.english.refusals import refuse_scopeless
from kairos.schedule.english.start_and_end import coming_weekday
from kairos.schedule.english.times_of_day import check_night, resolve
from kairos.schedule.plan.days import DayFinder, add_months, days_of_month, month_length
from kairos.schedule.plan.normal_form import day_rule
from kairos.schedule.plan.recurrence import DAY_SECONDS, Calendar, Once, Times
from kairos.schedule.timezones import day_seconds, instant_of, offset_at, resolve_local, seconds_of

if TYPE_CHECKING:
    from kairos.schedule.english.draft import DayChoice, Draft
    from kairos.schedule.english.token_reader import TokenReader

EXACT = {"second": 1, "minute": 60, "hour": 3600}


def compile_once(reader: TokenReader, draft: Draft) -> list[Once]:
    """Compile a part that does not recur into its instants."""
    if draft.instant is not None:
        if draft.choices or draft.times or draft.delay or draft.part:
            reader.refuse("An instant needs nothing else.", 0, until=len(reader.tokens))
        return [_unless_past(reader, seconds_of(draft.instant), 0)]
    if draft.months or any(choice.months for choice in draft.choices):
        at = draft.months_at or draft.choices[0].first
        reader.refuse("That names a whole month, not a day.", at, ("every day at 09:00 in january",))
    if draft.minutes is not None or draft.seconds is not None:
        reader.refuse(
            "Every hour, or only once?", draft.minutes_at, ("every hour at minute 30", "every hour")
        )
    if draft.delay is not None:
        return [_after_delay(reader, draft)]
    if draft.window is not None:
        reader.refuse(
            "A window needs to say how often, and on which days.",
            draft.window[0].first,
            ("every hour from 09:00 to 17:00 on weekdays",),
            until=draft.window[1].last + 1,
        )
    if len(draft.choices) > 1:
        _refuse_several_days(reader, draft)
    if not draft.times:
        text = reader.text.rstrip(" .")
        reader.refuse("At what time of day?", len(reader.tokens), (f"{text} at 09:00", f"{text} at 17:00"))
    times = sorted(set(resolve(reader, draft.times, draft.part)))
    if draft.part == "night":
        check_night(reader, draft.times, times)
    if not draft.choices:
        return [_at_next_time(reader, draft, times)]
    choice = draft.choices[0]
    _refuse_cron_description(reader, choice)
    if len(times) > 1 and choice.date is None:
        reader.refuse("Once each, or every week or year? Say “every”, or give the date.", choice.first)
    day = _day(reader, draft, choice, times[0])
    _check_midnight(reader, draft, choice, times, day)
    return [_resolved(reader, day, time, draft.time_at) for time in times]


def _refuse_cron_description(reader: TokenReader, choice: DayChoice) -> None:
    """Refuse “At 09:30 on Monday”: a generated description of a weekly cron expression looks the same."""
    clock = reader.kind("clock", ahead=1 - reader.index) and not reader.kind(
        "meridiem", ahead=2 - reader.index
    )
    if choice.date is None and reader.tokens[0].raw == "At" and clock:
        text = reader.text.strip(" .")
        days = reader.text[reader.tokens[choice.first].start : reader.tokens[choice.last].end]
        time = reader.tokens[1].raw
        reader.refuse(
            "Once, or each time? As the description of a cron expression it would recur.",
            choice,
            (f"every {days} at {time}", f"every year on {days} at {time}", f"{days} at {time}", text.lower()),
        )


def _refuse_several_days(reader: TokenReader, draft: Draft) -> None:
    text = reader.text.rstrip(" .")
    reader.refuse(
        "Several days: once each, or again and again? Say “every”.",
        draft.choices[0].first,
        (f"every {text}",),
        until=draft.choices[-1].last + 1,
    )


def _at_next_time(reader: TokenReader, draft: Draft, times: list[int]) -> Once:
    if len(times) > 1:
        shown = " and ".join(f"{time // 3600:02}:{time % 3600 // 60:02}" for time in times[:2])
        reader.refuse("Every day, or once?", draft.time_at, (f"every day at {shown}", f"tomorrow at {shown}"))
    placed = resolve_local(reader.zone, day_seconds(reader.today.toordinal()) + times[0])
    ahead = 0 if placed.at > reader.now else 1
    return _resolved(reader, reader.in_days(ahead), times[0], draft.time_at)


def _day(reader: TokenReader, draft: Draft, choice: DayChoice, time: int) -> date:
    """Return the one day that a choice of days means; refuse a choice of several."""
    if choice.date is not None:
        return choice.date
    if choice.month is not None:
        if len(choice.days) > 1:
            _refuse_several_days(reader, draft)
        return _next_matching(
            reader, Calendar(Times((time,)), (day_rule(months=(choice.month,), days=choice.days),))
        )
    if choice.weekdays:
        if len(choice.weekdays) > 1:
            _refuse_several_days(reader, draft)
        if not choice.ordinals:
            return coming_weekday(reader, choice.weekdays[0], choice.first)
        days = [item.n for item in choice.ordinals]
        return _next_matching(
            reader, Calendar(Times((time,)), (day_rule(weekdays=choice.weekdays, days=days),))
        )
    return _ordinal_day(reader, choice, time)


def _ordinal_day(reader: TokenReader, choice: DayChoice, time: int) -> date:
    if len(choice.ordinals) > 1:
        reader.refuse("Several days: once each, or again and again? Say “every”.", choice)
    item, scope = choice.ordinals[0], choice.scope
    if scope is None:
        said = any(token.text in ("day", "days") for token in reader.tokens[choice.first : choice.last + 1])
        if item.noun != "day" or item.n < 0 or said:
            refuse_scopeless(reader, choice, "of which month?")
        if item.n > month_length(reader.today.year, reader.today.month) or item.n > 31:
            reader.refuse("This month has no such day: name the month.", choice)
        day = _next_matching(reader, Calendar(Times((time,)), (day_rule(days=(item.n,)),)))
        following = add_months(reader.today.replace(day=1), 1)
        if following is not None and (day.year, day.month) > (following.year, following.month):
            reader.refuse("The coming month has no such day: name the month.", choice)
        return day
    if scope.kind in ("quarter", "year"):
        reader.refuse(f"Of this {scope.kind}, or of each {scope.kind}?", choice)
    rules = ordinal_rules(reader, choice, (), scope, lenient=True)
    if scope.year is not None:
        found = days_of_month(rules[0], scope.year, scope.months[0])
        if not found:
            reader.refuse("That month has no such day.", choice)
        return date(scope.year, scope.months[0], found[0])
    if len(scope.months) > 1:
        reader.refuse("Several days: once each, or every year? Say “every year”.", choice)
    return _next_matching(reader, Calendar(Times((time,)), tuple(rules)))


def _next_matching(reader: TokenReader, calendar: Calendar) -> date:
    """Return the first day of a calendar whose time is still to come."""
    assert isinstance(calendar.times, Times)
    time = calendar.times.at[0]
    coming = DayFinder(calendar, (), ()).following(reader.today)
    found = next(
        (d for d in coming if resolve_local(reader.zone, day_seconds(d.toordinal()) + time).at > reader.now),
        None,
    )
    if found is None:
        reader.refuse("That day never comes.", 0, until=len(reader.tokens))
    return found


def _check_midnight(
    reader: TokenReader, draft: Draft, choice: DayChoice, times: list[int], day: date
) -> None:
    """Refuse “midnight on friday”, which may begin or end that day; a full date with 00:00 is clear."""
    word = any(time.midnight_word for time in draft.times)
    if 0 in times and (word or choice.date is None):
        following = day + timedelta(days=1)
        reader.refuse(
            "The midnight that begins that day, or the one that ends it?",
            draft.time_at,
            (f"{day.isoformat()} at 00:00", f"{following.isoformat()} at 00:00"),
            until=draft.times[-1].last + 1,
        )


def _resolved(reader: TokenReader, day: date, time: int, at: int) -> Once:
    """Resolve a local time; refuse it if the clocks skip or repeat it, or if it is past."""
    local = day_seconds(day.toordinal()) + time
    placed = resolve_local(reader.zone, local)
    shown = f"{day.isoformat()} {time // 3600:02}:{time % 3600 // 60:02}"
    if placed.gap:
        by_the_new_clock = local - offset_at(reader.zone, placed.at)
        reader.refuse(
            f"{shown} does not exist there: the clocks jump over it.",
            at,
            (_instant(reader, by_the_new_clock), _instant(reader, placed.at)),
            until=len(reader.tokens),
        )
    if placed.other is not None:
        reader.refuse(
            f"{shown} comes twice there: the clocks go back.",
            at,
            (_instant(reader, placed.at), _instant(reader, placed.other)),
            until=len(reader.tokens),
        )
    return _unless_past(reader, placed.at, at)


def _instant(reader: TokenReader, at: int) -> str:
    return instant_of(at).astimezone(reader.zone).isoformat()


def _unless_past(reader: TokenReader, at: int, index: int) -> Once:
    if at <= reader.now:
        reader.refuse(
            "That is in the past.", index, ("in 20 minutes", "tomorrow at 09:00"), until=len(reader.tokens)
        )
    return Once(instant_of(at))


def _after_delay(reader: TokenReader, draft: Draft) -> Once:
    assert draft.delay is not None
    days = months = 0
    exact = 0.0
    for amount, unit in draft.delay:
        if unit in EXACT:
            exact += amount * EXACT[unit]
        elif amount != int(amount):
            reader.refuse(f"Half a {unit} is no whole number of days.", draft.delay_at)
        elif unit in WHOLE_DAYS:
            days += int(amount) * WHOLE_DAYS[unit]
        else:
            months += int(amount) * WHOLE_MONTHS[unit]
    if exact != int(exact):
        reader.refuse("Less than whole seconds cannot be scheduled.", draft.delay_at)
    if draft.choices or draft.part:
        reader.refuse("A delay and a day: which one?", draft.delay_at, until=len(reader.tokens))
    if draft.times and (exact or not (days or months)):
        reader.refuse("A delay and a time: which one?", draft.time_at, until=len(reader.tokens))
    if not (exact or days or months) or days > 1_000_000 or months > 12_000 or exact > 1e10:
        reader.refuse("That is no delay to wait for.", draft.delay_at, ("in 20 minutes",))
    if not (days or months):
        return Once(instant_of(reader.now + int(exact)))
    day = add_months(reader.today, months) if months else reader.today
    if day is None:
        reader.refuse("That many months ahead there is no such day.", draft.delay_at, ("in 30 days",))
    day += timedelta(days=days)
    if draft.times:
        times = resolve(reader, draft.times, None)
        if len(times) > 1:
            reader.refuse("One time, please.", draft.time_at)
        return _resolved(reader, day, times[0], draft.time_at)
    placed = _resolved(reader, day, reader.time_of_day, draft.delay_at)
    return Once(placed.at + timedelta(seconds=int(exact) % DAY_SECONDS, days=int(exact) // DAY_SECONDS))
