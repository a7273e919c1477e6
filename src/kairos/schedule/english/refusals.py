"""Refuse unknown words with a reason and suggestions."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from kairos.schedule.english.vocabulary import KNOWN, MONTHS, UNITS, VAGUE, VAGUE_SUGGESTIONS
from kairos.schedule.english.zone_names import refuse_misspelled_place

if TYPE_CHECKING:
    from kairos.schedule.english.draft import DayChoice
    from kairos.schedule.english.token_reader import TokenReader

_SMALL_WORDS = ("the", "a", "an", "of", "at", "on", "in", "to", "for", "and")
EXAMPLES = ("every day at 09:00", "every weekday at 9am in London", "in 20 minutes", "tomorrow at noon")


def refuse_unknown(reader: TokenReader) -> NoReturn:
    """Refuse the next token with the most specific reason."""
    token = reader.peek()
    if reader.done:
        reader.refuse("Something is missing at the end.", len(reader.tokens) - 1, EXAMPLES)
    if any(later.text == "ago" for later in reader.tokens[reader.index :]):
        reader.refuse("That is in the past.", suggestions=EXAMPLES[2:], until=len(reader.tokens))
    if reader.at("or", ahead=1) or (reader.at("a", "an") and reader.peek(1).text in VAGUE):
        reader.take()
        token = reader.peek()
    if token.kind == "word" and token.text in MONTHS:
        reader.refuse(
            f"“{token.raw}” is a whole month: on which day?", suggestions=(f"1 {token.raw} at 09:00",)
        )
    if token.kind == "word" and token.text in VAGUE:
        reader.refuse(
            f"{_sentence(VAGUE[token.text])}.",
            suggestions=VAGUE_SUGGESTIONS.get(token.text, _without(reader)),
        )
    if token.text in ("next", "last", "this", "coming", "current", "following"):
        reader.refuse(
            f"“{token.raw}” here names a period or can be read two ways: give the date.",
            suggestions=EXAMPLES[3:],
        )
    if token.text in UNITS:
        reader.refuse(f"“{token.raw}” needs a number or “every” before it.", suggestions=EXAMPLES)
    if token.text in ("holiday", "holidays"):
        reader.refuse("Holidays can be left out of a schedule: “every weekday at 9am except holidays”.")
    if token.kind == "word":
        _refuse_word(reader)
    if token.kind == "number":
        reader.refuse(f"It is not clear what {token.raw} means here.", suggestions=_as_time(reader))
    reader.refuse(f"“{token.raw}” is not understood here.", suggestions=EXAMPLES)


def refuse_rate(reader: TokenReader, first: int, until: int) -> NoReturn:
    """Refuse a rate such as “twice a day” without the times or days."""
    words = " ".join(token.raw for token in reader.tokens[first:until])
    reader.refuse(
        f"“{words}” in each period does not say when: give the times.",
        first,
        ("every day at 09:00 and 17:00", "every 8 hours"),
        until=until,
    )


def _refuse_word(reader: TokenReader) -> NoReturn:
    token = reader.peek()
    known = token.text in KNOWN or token.text in _SMALL_WORDS
    unknown = len(token.text) > 2 and not known
    if unknown:
        refuse_misspelled_place(reader)
    close = get_close_matches(token.text, KNOWN, n=2, cutoff=0.66) if unknown else []
    if close:
        fixed = tuple(f"{reader.text[: token.start]}{word}{reader.text[token.end :]}" for word in close)
        timed = tuple(f"{text} at 09:00" for text in fixed)
        reader.refuse(f"“{token.raw}” is not a word it knows; {close[0]}?", suggestions=(*fixed, *timed))
    message = f"“{token.raw}” does not fit here." if known else f"“{token.raw}” is not a word it knows."
    reader.refuse(message, suggestions=EXAMPLES)


def _without(reader: TokenReader) -> tuple[str, ...]:
    token = reader.peek()
    rest = f"{reader.text[: token.start].rstrip()} {reader.text[token.end :].lstrip()}".strip()
    return (rest, *EXAMPLES[:2])


def _as_time(reader: TokenReader) -> tuple[str, ...]:
    token = reader.peek()
    if token.value > 23:
        return EXAMPLES
    before, after = reader.text[: token.start], reader.text[token.end :]
    hours = (token.value, token.value + 12) if token.value < 12 else (token.value,)
    return (*(f"{before}at {hour:02}:00{after}" for hour in hours), *EXAMPLES[:1])


def _sentence(reason: str) -> str:
    return reason[0].upper() + reason[1:]


def refuse_scopeless(reader: TokenReader, choice: DayChoice, question: str) -> NoReturn:
    """Refuse ordinals without the month or year that they count within."""
    words = reader.text[reader.tokens[choice.first].start : reader.tokens[choice.last].end]
    reader.refuse(
        f"“{words}” {question}", choice, (f"on the {words.removeprefix('the ')} of each month at 09:00",)
    )
