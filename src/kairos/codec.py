"""The one JSON codec: what it accepts, JSON and jsonb hold both ways; the rest is refused at the door."""

from __future__ import annotations

import json
import math
from typing import Any

from kairos.errors import BadValue

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
# Python will not print an integer longer than this, and jsonb would keep it as a number nobody can read back.
MAX_DIGITS = 4000
_LARGEST = 10**MAX_DIGITS

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
_PLAIN = (bool, type(None))


def dumps(value: Any, what: str = "value") -> str:
    """Encode `value`, or raise `BadValue` with the path of what cannot be held."""
    if value is None:
        return "null"
    _refuse(value, what, 0)
    text = _encode(value)
    _refuse_size(text, what)
    return text


def is_plain(text: str) -> bool:
    """Whether JSON from a trusted encoder is short and simple enough to break none of the rules.

    A glance instead of a walk: most arguments are a few numbers and words. Whatever could hide a NUL, half a
    surrogate pair, a NaN (also one written as null), an endless integer or deep nesting is not plain.
    """
    return (
        len(text) < MAX_DIGITS
        and text.isascii()
        and "\\u" not in text
        and "null" not in text
        and "NaN" not in text
        and "Infinity" not in text
        and text.count("{") + text.count("[") <= MAX_DEPTH
    )


def loads(text: str, what: str = "value", *, limit: int = MAX_BYTES) -> Any:
    """Decode JSON from outside, holding it to the same rules."""
    _refuse_size(text, what, limit)
    try:
        value = json.loads(text, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{what} is not valid JSON: {error}.", field=what) from error
    _refuse(value, what, 0)
    return value


def refuse_endless(value: Any, path: str) -> None:
    """Raise for a number that JSON has none for, in any value: not only in one that is JSON already."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadValue(f"{path} is {value}, which JSON has no number for.", field=path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            refuse_endless(inner, f"{path}.{key}")
    elif isinstance(value, list | tuple | set | frozenset):
        for index, inner in enumerate(value):
            refuse_endless(inner, f"{path}[{index}]")


def printable(text: str, limit: int = 4000) -> str:
    """Text that Postgres can always store: the write of a failure must not itself fail."""
    safe = text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def _refuse_size(text: str, what: str, limit: int = MAX_BYTES) -> None:
    # A character is at most four bytes, so most texts need no second encoding to know they fit.
    if len(text) > limit // 4 and (size := len(text.encode("utf-8", "surrogatepass"))) > limit:
        raise BadValue(f"{what} takes {size} bytes as JSON; the limit is {limit}.", field=what)


def _refuse(value: Any, path: str, depth: int) -> None:
    if isinstance(value, str):
        _refuse_text(value, path)
    elif isinstance(value, _PLAIN):
        return
    elif isinstance(value, float):
        refuse_endless(value, path)
    elif isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise BadValue(f"{path} is an integer of more than {MAX_DIGITS} digits.", field=path)
    elif depth >= MAX_DEPTH:
        raise BadValue(f"{path} is nested more than {MAX_DEPTH} levels deep.", field=path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise BadValue(f"{path} has the key {key!r}, but JSON keys are text.", field=path)
            _refuse_text(key, path)
            _refuse(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _refuse(inner, f"{path}[{index}]", depth + 1)
    else:
        raise BadValue(f"{path} is a {type(value).__name__}, which JSON cannot hold.", field=path)


def _refuse_text(text: str, path: str) -> None:
    if text.isascii():
        if "\x00" in text:
            raise BadValue(f"{path} contains a NUL character, which Postgres cannot store.", field=path)
        return
    if "\x00" in text:
        raise BadValue(f"{path} contains a NUL character, which Postgres cannot store.", field=path)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadValue(f"{path} contains half a surrogate pair, which is not text.", field=path) from error


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found
