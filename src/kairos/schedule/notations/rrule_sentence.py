"""Parse the canonical sentence of an RFC 5545 rule that is kept as a rule."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime

from kairos.schedule.errors import IntentError
from kairos.schedule.notations.rrule import rule_of
from kairos.schedule.notations.rrule_lines import read_rule
from kairos.schedule.plan.recurrence import Recurrence
from kairos.schedule.timezones import find_zone, instant_of, load_zone, resolve_local, seconds_of

LEAD = re.compile(r"by RRULE\b", re.IGNORECASE)
SENTENCE = re.compile(
    r"by RRULE (?P<rule>FREQ=[A-Z0-9=;,+-]+)"
    r" from (?P<start>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
    r"(?: until (?P<until>[0-9][0-9T:+-]*(?: [0-9:]+)?))?"
    r"(?: except at (?P<excluded>[0-9TZ:-]+(?: and [0-9TZ:-]+)*))?"
    r" \((?P<zone>[^()]+)\)"
)
EXAMPLE = "by RRULE FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO from 2030-05-13 09:00 (UTC)"


def parse(text: str, now: int) -> Recurrence:
    """Compile `by RRULE FREQ=… from <start> [until <end>] [except at <instants>] (<zone>)`."""
    found = SENTENCE.fullmatch(text.strip())
    zone = find_zone(found["zone"]) if found else None
    if found is None or zone is None:
        raise IntentError(
            "A sentence with an RRULE needs a start and a time zone.",
            text=text,
            length=len(text),
            suggestions=(EXAMPLE,),
        )
    try:
        start = datetime.fromisoformat(found["start"])
        end = _end(found["until"], zone)
        excluded = tuple(
            datetime.fromisoformat(each).astimezone(UTC)
            for each in (found["excluded"] or "").split(" and ")
            if each
        )
    except ValueError:
        raise IntentError("There is no such date or time.", text=text, length=len(text)) from None
    written = read_rule(found["rule"], zone)
    for name in ("COUNT", "UNTIL"):
        if name in written.values:
            written.refuse(f"In a sentence “until” stands for {name}.", name)
    written.start = seconds_of(start.replace(tzinfo=UTC))
    return Recurrence((replace(rule_of(written, now), excluded=excluded),), zone, None, end)


def _end(text: str | None, zone: str) -> date | datetime | None:
    if text is None:
        return None
    if len(text) == 10:
        return date.fromisoformat(text)
    end = datetime.fromisoformat(text)
    if end.tzinfo is not None:
        return end.astimezone(UTC)
    return instant_of(resolve_local(load_zone(zone), seconds_of(end.replace(tzinfo=UTC))).at)
