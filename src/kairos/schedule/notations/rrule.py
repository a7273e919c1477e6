"""RFC 5545 recurrence rules: `FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9`, with DTSTART, EXDATE, UNTIL and COUNT.

A rule that a sentence can say becomes an ordinary calendar or interval. Any other is kept as a rule, whose sentence is
`by RRULE FREQ=… from <start> (<zone>)`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, get_args

from kairos.schedule.errors import IntentError
from kairos.schedule.notations.rrule_calendar import LONG_AGO, excluded_days, to_recurrence, whole_day_end
from kairos.schedule.notations.rrule_days import NotExpressible
from kairos.schedule.notations.rrule_lines import WEEKDAYS, RuleText, read_rule, read_stamp
from kairos.schedule.plan.evaluate import ticks
from kairos.schedule.plan.recurrence import DAY_SECONDS, Frequency, Interval, Recurrence, RRule
from kairos.schedule.plan.rfc5545 import (
    UNIT_SECONDS,
    local_start,
    naive_local,
    rule_ticks,
    start_is_instance,
)
from kairos.schedule.timezones import (
    EPOCH_ORDINAL,
    instant_of,
    load_zone,
    resolve_local_rfc5545,
    seconds_of,
    to_local,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_COUNT = 10_000
LAST_COUNTED_YEAR = 2_999
BY_PARTS = ("BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND")


def parse(text: str, now: int, zone: str, reads_back: Callable[[Recurrence], bool]) -> Recurrence:
    """Compile a recurrence rule; `reads_back` says whether the sentence of a recurrence parses to it."""
    written = read_rule(text, zone)
    rule = rule_of(written, now)
    excluded = _check_start(written, rule)
    try:
        plain = to_recurrence(rule, written.zone, now, started=written.start is not None)
        plain = _bounded(written, plain, now)
        plain = replace(plain, exceptions=excluded_days(replace(plain, end=None), excluded))
        if reads_back(plain):
            return plain
    except NotExpressible:
        pass
    if written.start is None and (rule.interval > 1 or "COUNT" in written.values):
        written.refuse("From when does this rule count? Add DTSTART.")
    kept = _bounded(written, Recurrence((rule,), written.zone), now)
    for at, piece, position in written.excluded:
        if at in excluded and next(rule_ticks(rule, load_zone(written.zone), at - 1), None) != at:
            raise IntentError(
                "EXDATE names no tick of this rule.", text=text, position=position, length=len(piece)
            )
    instants = tuple(instant_of(at) for at in sorted(set(excluded)))
    return replace(kept, rules=(replace(rule, excluded=instants),))


def rule_of(written: RuleText, now: int) -> RRule:
    """The value of a rule; refuse what RFC 5545 does not allow, and what leaves a day or a time open."""
    name = written.get("FREQ")
    if name is None:
        written.refuse("A rule needs FREQ.", suggestions=("FREQ=DAILY;BYHOUR=9;BYMINUTE=0",))
    frequency: Frequency | None = next((each for each in get_args(Frequency) if each == name), None)
    if frequency is None:
        written.refuse(f"{name!r} is not a frequency.", "FREQ")
    _check_time(written, frequency)
    week_start = WEEKDAYS.get(written.get("WKST") or "MO")
    if week_start is None:
        written.refuse("That is not a weekday.", "WKST")
    rule = RRule(
        frequency,
        _start(written, frequency, now),
        written.whole("INTERVAL") or 1,
        months=written.numbers("BYMONTH"),
        week_numbers=written.numbers("BYWEEKNO"),
        year_days=written.numbers("BYYEARDAY"),
        month_days=written.numbers("BYMONTHDAY"),
        by_day=written.by_day(),
        hours=written.numbers("BYHOUR"),
        minutes=written.numbers("BYMINUTE"),
        seconds=written.numbers("BYSECOND"),
        positions=written.numbers("BYSETPOS"),
        week_start=week_start,
    )
    _check_parts(written, rule)
    _check_days(written, rule)
    return rule


def _check_time(written: RuleText, frequency: str) -> None:
    if frequency not in UNIT_SECONDS and written.start is None and "BYHOUR" not in written.values:
        written.refuse(
            "At what time of day? Add BYHOUR, or DTSTART.",
            suggestions=(f"{written.text.strip().rstrip(';')};BYHOUR=9;BYMINUTE=0",),
        )


def _start(written: RuleText, frequency: str, now: int) -> datetime:
    """DTSTART, or the full hour, minute or second of the current local time."""
    if written.start is not None:
        return naive_local(written.start)
    local = to_local(load_zone(written.zone), now)
    return naive_local(local - local % max(3600, UNIT_SECONDS.get(frequency, 3600)))


def _check_parts(written: RuleText, rule: RRule) -> None:
    """Refuse the parts that RFC 5545 forbids beside a frequency."""
    counted = any(nth for nth, _ in rule.by_day)
    if rule.week_numbers and rule.frequency != "YEARLY":
        written.refuse("BYWEEKNO belongs to yearly rules.", "BYWEEKNO")
    if rule.week_numbers and not rule.by_day:
        written.refuse("On which weekday of these weeks? Add BYDAY.", "BYWEEKNO")
    if rule.year_days and rule.frequency in ("DAILY", "WEEKLY", "MONTHLY"):
        written.refuse("BYYEARDAY does not go with that frequency.", "BYYEARDAY")
    if rule.month_days and rule.frequency == "WEEKLY":
        written.refuse("A weekly rule has plain weekdays.", "BYMONTHDAY")
    if counted and (rule.frequency not in ("MONTHLY", "YEARLY") or rule.week_numbers):
        written.refuse("Counted weekdays go with monthly and yearly rules, and not with BYWEEKNO.", "BYDAY")
    within_month = rule.frequency == "MONTHLY" or bool(rule.months)
    if any(abs(nth) > (5 if within_month else 53) for nth, _ in rule.by_day):
        written.refuse("A month has at most five of a weekday, a year 53.", "BYDAY")
    if rule.positions and not any(name in written.values for name in BY_PARTS):
        written.refuse("BYSETPOS needs another BY part to choose from.", "BYSETPOS")


def _check_days(written: RuleText, rule: RRule) -> None:
    """Without DTSTART the rule itself must name its days."""
    if (
        written.start is not None
        or rule.by_day
        or rule.year_days
        or rule.frequency not in ("WEEKLY", "MONTHLY", "YEARLY")
    ):
        return
    if rule.frequency == "WEEKLY":
        written.refuse(
            "On which weekday? Add BYDAY.", suggestions=(f"{written.text.strip().rstrip(';')};BYDAY=MO",)
        )
    if not rule.month_days:
        written.refuse("On which day? Add BYMONTHDAY or BYDAY.")
    if rule.frequency == "YEARLY" and not rule.months:
        written.refuse("In which month? Add BYMONTH.")


def _check_start(written: RuleText, rule: RRule) -> list[int]:
    """Refuse a DTSTART that the rule does not generate: whether it counts is undefined. Return the EXDATEs."""
    excluded = [at for at, _, _ in written.excluded]
    if written.start is None or start_is_instance(rule, load_zone(written.zone)):
        return excluded
    start = resolve_local_rfc5545(load_zone(written.zone), local_start(rule))
    if start not in excluded or "COUNT" in written.values:
        written.refuse("DTSTART is not an instance of this rule: some count it, some do not.", "FREQ")
    return [at for at in excluded if at != start]


def _bounded(written: RuleText, recurrence: Recurrence, now: int) -> Recurrence:
    """Add the end that COUNT or UNTIL gives."""
    count, until = written.whole("COUNT"), written.get("UNTIL")
    if count is not None and until is not None:
        written.refuse("COUNT and UNTIL exclude each other.", "COUNT")
    if until is not None:
        return replace(recurrence, end=_until(written, until, recurrence))
    if count is None:
        return recurrence
    if count > MAX_COUNT:
        written.refuse(f"COUNT goes up to {MAX_COUNT}.", "COUNT")
    anchored = written.start is not None or (
        recurrence.start is not None and not isinstance(recurrence.rules[0], Interval)
    )
    end = None
    for end in islice(ticks(recurrence, LONG_AGO if anchored else instant_of(now)), count):
        if end.year > LAST_COUNTED_YEAR:
            written.refuse(f"COUNT reaches past the year {LAST_COUNTED_YEAR}.", "COUNT")
    return replace(recurrence, end=end)


def _until(written: RuleText, until: str, recurrence: Recurrence) -> date | datetime:
    local, zone = read_stamp(written, until, written.values["UNTIL"][1])
    own = load_zone(written.zone)
    if "T" not in until:
        midnight = resolve_local_rfc5545(own, local)
        after = next(ticks(recurrence, instant_of(midnight)), None)
        if after is not None and to_local(own, seconds_of(after)) < local + DAY_SECONDS:
            written.refuse("Is that day included? Add a time to UNTIL.", "UNTIL")
        return date.fromordinal(local // DAY_SECONDS + EPOCH_ORDINAL)
    return whole_day_end(resolve_local_rfc5545(load_zone(zone), local), written.zone)
