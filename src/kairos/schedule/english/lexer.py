"""Split a text into typed tokens; refuse a text with a character outside every token."""

from __future__ import annotations

import re
from typing import NamedTuple

from kairos.schedule import timezones
from kairos.schedule.english.vocabulary import NUMBERS, ORDINALS, TENS, WEEKDAYS
from kairos.schedule.errors import IntentError

TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
    (?P<instant>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})(?![\w:]))
  | (?P<date>\d{4}-\d{1,2}-\d{1,2}(?![\w:-])|\d{4}/\d{1,2}/\d{1,2}(?![\w:/-]))
  | (?P<slashed>\d{1,2}[/.]\d{1,2}[/.]\d{4}(?![\w:/.-]))
  | (?P<clock>\d{1,2}:\d{2}(?::\d{2})?(?![\d:]))
  | (?P<minute>(?<![\w:]):\d{2}(?![\w:]))
  | (?P<hclock>\d{1,2}h\d{2}(?![\w]))
  | (?P<ordinal>\d{1,3}(?:st|nd|rd|th)(?![A-Za-z0-9]))
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<meridiem>(?:a\.m\.|p\.m\.|a\.m|p\.m|am\.?|pm\.?|a\ m|p\ m)(?![A-Za-z]))
  | (?P<offset>(?:UTC|GMT)[+-]\d{1,2}(?::?\d{2})?(?![\w:]))
  | (?P<shift>\+\d{1,2}:?\d{2}(?![\w:]))
  | (?P<foreign>[A-Za-z]*[À-ÖØ-öø-ɏḀ-ỿ\u0300-\u036f][A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ\u0300-\u036f'’ʻ-]*)
  | (?P<name>(?!o['’]?clock)[A-Za-z]+['’ʻ][A-Za-z]{2,})
  | (?P<zone>[A-Za-z]+(?:[_-][A-Za-z]+)*/[A-Za-z][A-Za-z0-9_+/-]*)
  | (?P<word>o['’]?clock|[A-Za-z]+(?:['’]s|(?<=s)['’](?=\ ))?)
  | (?P<punctuation>[,;()&@/–—-])
  | (?P<dot>\.)
    )""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
SPACES = " \t\n\r"
SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
MAX_LENGTH = 20_000  # a canonical sentence that lists many times is long, and must parse


class Token(NamedTuple):
    """A token. `glued`: no space precedes it."""

    kind: str
    text: str
    raw: str
    start: int
    end: int
    value: int = 0
    glued: bool = False
    spelled: bool = False


def lex(text: str) -> list[Token]:
    """The tokens of an intent."""
    if len(text) > MAX_LENGTH:
        raise IntentError(f"An intent has at most {MAX_LENGTH} characters.", text=text[:MAX_LENGTH])
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip(SPACES))
    while position < end:
        found = TOKEN.match(text, position)
        if found is None:
            position = end - len(text[position:end].lstrip(SPACES))
            shown = text[position]
            raise IntentError(f"{shown!r} is not understood here.", text=text, position=position, length=1)
        tokens.extend(_tokens(found, text, position))
        position = found.end()
    return _joined(tokens) if any(token.text in TENS for token in tokens) else tokens


def _tokens(found: re.Match[str], text: str, after: int) -> list[Token]:
    kind = found.lastgroup or ""
    raw, (start, end) = found[kind], found.span(kind)
    lower, glued = raw.lower(), 0 < start == after
    if kind == "word":
        lower = lower.replace("'", "").replace("’", "")
        if lower in ORDINALS:
            return [Token("ordinal", lower, raw, start, end, ORDINALS[lower], glued, spelled=True)]
        if lower in NUMBERS:
            return [Token("number", lower, raw, start, end, NUMBERS[lower], glued, spelled=True)]
        return [Token(kind, lower, raw, start, end, glued=glued)]
    if kind == "dot":
        # A dot ends an abbreviation or the text; it carries no meaning anywhere else.
        if glued or not text[end:].strip():
            return []
        raise IntentError("A dot is not understood here.", text=text, position=start, length=1)
    if kind == "ordinal":
        number = int(raw[:-2])
        suffix = "th" if number % 100 in (11, 12, 13) else SUFFIXES.get(number % 10, "th")
        if lower[-2:] != suffix:
            message = f"{raw} is not an ordinal: {number}{suffix} is."
            raise IntentError(message, text=text, position=start, length=len(raw))
        return [Token(kind, lower, raw, start, end, number, glued)]
    if kind == "minute":
        return [Token(kind, raw, raw, start, end, int(raw[1:]), glued)]
    if kind == "number":
        return [Token(kind, lower, raw, start, end, int(raw.split(".")[0]), glued)]
    if kind == "hclock":
        return [Token("clock", lower.replace("h", ":"), raw, start, end, glued=glued)]
    if kind in ("foreign", "name"):  # letters that only names of places have, never the words of the grammar
        return [Token("word", lower, raw, start, end, glued=glued)]
    if kind in ("offset", "shift"):
        return [Token("zone", lower, raw, start, end, glued=glued)]
    if kind == "meridiem":
        return [Token(kind, lower[0] + "m", raw, start, end, glued=glued)]
    if kind == "zone":
        return _zone_or_list(raw, start, glued)
    return [Token(kind, lower, raw, start, end, glued=glued)]


def _zone_or_list(raw: str, start: int, glued: bool) -> list[Token]:
    """`Europe/London` is a zone; `mon/wed/fri` is a list of words."""
    parts = raw.split("/")
    if timezones.find_zone(raw) is None and all(part.lower() in WEEKDAYS for part in parts):
        tokens: list[Token] = []
        for part in parts:
            if tokens:
                tokens.append(Token("punctuation", "/", "/", start, start + 1, glued=True))
                start += 1
            tokens.append(Token("word", part.lower(), part, start, start + len(part), glued=bool(tokens)))
            start += len(part)
        return tokens
    return [Token("zone", raw.lower(), raw, start, start + len(raw), glued=glued)]


def _joined(tokens: list[Token]) -> list[Token]:
    """Join spelled-out tens with the unit after them: twenty-five, thirty first."""
    joined: list[Token] = []
    for token in tokens:
        tens = joined[-1] if joined else None
        if tens and tens.text == "-" and len(joined) > 1 and joined[-2].text in TENS and token.spelled:
            joined.pop()
            tens = joined[-1]
        if tens and token.spelled and tens.text in TENS and tens.kind == "number" and 0 < token.value < 10:
            raw = f"{tens.raw}-{token.raw}"
            whole = TENS[tens.text] + token.value
            joined[-1] = Token(
                token.kind, raw.lower(), raw, tens.start, token.end, whole, tens.glued, spelled=True
            )
        else:
            joined.append(token)
    return joined
