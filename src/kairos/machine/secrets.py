"""Hide redacted values inside text, such as the message of an exception."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from kairos.machine.step_log import REDACTED

# Shorter values are ordinary words and numbers, and would be hidden everywhere.
_SHORTEST = 4
# A single line of a value, or a part of its base64 form, is hidden too if it is at least this long.
_SHORTEST_PART = 8
# Bounds of the cost, which blocks a worker: a longer value is searched for only unchanged and escaped once, and of its
# lines only the first ones. The largest keys and certificates are within the bounds.
_LONGEST = 64 * 1024
_MOST_LINES = 1000
# The characters that percent-encoding leaves unchanged: none, those of a path, or those of a query.
_SAFE = ("", "/", "/?:@!$&'()*+,;=")


def secrets_of(state: str, fields: Iterable[str]) -> list[str]:
    """Return the values of the redacted fields of a state (JSON text), as they would appear in a message."""
    names = list(fields)
    if not names:
        return []
    whole = json.loads(state)
    found = {text for name in names for value in _under(whole, name) for text in _leaves(value)}
    return sorted((text for text in found if len(text) >= _SHORTEST), key=len, reverse=True)


def replace_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return the text with each secret replaced, also where it is escaped, encoded or only a line of it."""
    found = {form for secret in secrets for form in _forms(secret, len(text)) if form in text}
    for form in sorted(found, key=len, reverse=True):
        text = text.replace(form, REDACTED)
    return text


def _forms(secret: str, longest: int) -> Iterator[str]:
    """Yield what a secret may look like in a text of at most `longest` characters."""
    if len(secret) <= longest:  # no form is shorter than the value itself
        escaped = _escaped(secret)
        yield from escaped
        if len(secret) <= _LONGEST:
            for each in escaped:
                yield from _escaped(each)  # `str(KeyError(repr(secret)))` escapes twice
            yield from _encoded(secret)
    for line in secret.splitlines()[:_MOST_LINES]:
        if _SHORTEST_PART <= len(line.strip()) <= longest:
            yield from _escaped(line.strip())


def _escaped(text: str) -> set[str]:
    """Return a text as Python and JSON write it between quotes; all are the text itself if it needs no escapes."""
    if text.isascii() and text.isprintable() and not any(each in text for each in "'\"\\/"):
        return {text}
    found = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    found |= {each.replace("/", "\\/") for each in found}
    # With both quotes in it, a literal is in single quotes, and each of these is escaped. Which quotes a text gets
    # depends on what else stands beside the secret: it may be found without these escapes.
    both = "'\""
    data = text.encode(errors="surrogatepass")
    for literal in (repr(text + both)[1:-4], ascii(text + both)[1:-4], repr(data + both.encode())[2:-4]):
        found |= {literal, literal.replace("\\'", "'")}
    return found


def _encoded(text: str) -> Iterator[str]:
    """Yield a text percent-encoded and in base64."""
    data = text.encode(errors="surrogatepass")
    for safe in _SAFE:
        yield quote(data, safe=safe)
    yield quote_plus(data)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(data).decode()
        # After other bytes, as in `user:password`, it is encoded in one of three ways. The characters at both ends
        # that depend on these bytes too are left out.
        for before, shared in ((0, 0), (1, 2), (2, 3)):
            part = encode(bytes(before) + data).decode()[shared : (before + len(data)) * 8 // 6]
            if len(part) >= _SHORTEST_PART:
                yield part


def _under(value: Any, field: str) -> Iterator[Any]:
    """Yield the values of a field; `card.number` names a nested one, also in each item of a list."""
    if isinstance(value, list):
        for each in value:
            yield from _under(each, field)
    elif isinstance(value, dict):
        if field in value:
            yield value[field]
        head, dot, rest = field.partition(".")
        if dot and head in value:
            yield from _under(value[head], rest)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
