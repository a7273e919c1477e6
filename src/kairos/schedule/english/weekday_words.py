"""Words that stand for weekdays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.vocabulary import PLURAL_GROUPS, PLURAL_WEEKDAYS, WEEKDAY_GROUPS, WEEKDAYS

if TYPE_CHECKING:
    from kairos.schedule.english.token_reader import TokenReader

RANGES = ("-", "–", "—", "to", "through", "thru", "till", "until")


def weekdays_of(reader: TokenReader, ahead: int = 0) -> tuple[tuple[int, ...], bool, int] | None:
    """The weekdays that the next words name, whether they are plural, and how many tokens they are."""
    token = reader.peek(ahead)
    if token.kind != "word":
        return None
    text = token.text
    if text in WEEKDAYS:
        return (WEEKDAYS[text],), False, 1
    if text in PLURAL_WEEKDAYS:
        return (PLURAL_WEEKDAYS[text],), True, 1
    if text in PLURAL_GROUPS:
        return PLURAL_GROUPS[text], True, 1
    if text in WEEKDAY_GROUPS:
        days = WEEKDAY_GROUPS[text]
        return days, False, 2 if reader.at("day", "days", ahead=ahead + 1) and text == "weekend" else 1
    if text in ("business", "working", "work") and reader.at("day", "days", ahead=ahead + 1):
        return WEEKDAY_GROUPS["weekday"], reader.at("days", ahead=ahead + 1), 2
    return None
