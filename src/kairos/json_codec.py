"""The strict JSON codec: it accepts only values that JSON and jsonb return unchanged, and raises for all others."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from kairos.errors import BadValue

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
# Python refuses to print a longer integer, so one that jsonb stored could not be read back.
MAX_DIGITS = 4000
_LARGEST = 10**MAX_DIGITS

# An error message shows at most this many characters of a key.
MAX_NAME = 100

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
_PLAIN = (bool, type(None))
# A string, to be skipped, or a number with a positive exponent. A number is matched from its first digit only, and
# without backtracking: an integer of 4000 digits would otherwise be read from each of its digits, in half a second.
_EXPONENT = re.compile(r'"(?:[^"\\]|\\.)*+"|(?<![\d.])-?\d++(?:\.\d++)?[eE]\+?\d++')

_MAYBE_EXPONENT = re.compile(r"\d[eE]")


class NotJsonType(BadValue):
    """The value has a type that JSON does not know, such as a date or a set."""


def dumps(value: Any, what: str = "value") -> str:
    """Encode `value`, or raise `BadValue` with the path of the part that cannot be stored."""
    if value is None:
        return "null"
    _refuse(value, what)
    text = _encode(value)
    _refuse_size(text, what)
    text = _spell_out_floats(text, what)
    _refuse_size(text, what)
    return text


def is_plain(text: str) -> bool:
    """Whether JSON from a trusted encoder is so short and simple that it cannot break a rule.

    A quick check instead of a walk: most arguments are a few numbers and words. Text that could hide a NUL, a lone
    surrogate, a NaN (also one encoded as null), a huge integer or deep nesting is not plain.
    """
    return (
        len(text) < MAX_DIGITS
        and text.isascii()
        and "\\u" not in text
        and "null" not in text
        and "NaN" not in text
        and "Infinity" not in text
        and text.count("{") + text.count("[") <= MAX_DEPTH
        and not _has_exponent(text)
    )


def loads(text: str, what: str = "value", *, limit: int = MAX_BYTES) -> Any:
    """Decode JSON from outside and apply the same rules."""
    _refuse_size(text, what, limit)
    try:
        value = json.loads(text, object_pairs_hook=_refuse_duplicate_names)
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{what} is not valid JSON: {error}.", field=what) from error
    _refuse(value, what)
    return value


def refuse_endless(value: Any, path: str) -> None:
    """Raise for NaN and infinity anywhere in a Python value."""
    try:
        _check_endless(value)
    except _Fault as fault:
        raise fault.as_error(path) from None


def shortened(name: str) -> str:
    """Return the name of a key, cut to the length that an error message shows."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def printable(text: str, limit: int = 4000) -> str:
    """Return text that Postgres can always store: recording a failure must not itself fail."""
    safe = text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def _has_exponent(text: str) -> bool:
    return _MAYBE_EXPONENT.search(text) is not None and any(
        not found[0].startswith('"') for found in _EXPONENT.finditer(text)
    )


def _spell_out_floats(text: str, what: str) -> str:
    """Write 1e+23 as digits with a decimal point: jsonb would return it as an integer, which is another number.

    Raise as soon as the text is larger than the limit: 1e+308 takes 6 bytes, and 311 as digits.
    """
    size = len(text)

    def spell_out(found: re.Match[str]) -> str:
        nonlocal size
        number = found[0]
        if number.startswith('"'):
            return number
        digits = f"{float(number):.1f}"
        size += len(digits) - len(number)
        if size > MAX_BYTES:
            raise BadValue(
                f"{what} takes more bytes as JSON than allowed; the limit is {MAX_BYTES}.", field=what
            )
        return digits

    return _EXPONENT.sub(spell_out, text)


def _refuse_size(text: str, what: str, limit: int = MAX_BYTES) -> None:
    # A character takes at most four bytes, so most texts are known to fit without encoding them.
    if len(text) > limit // 4 and (size := len(text.encode("utf-8", "surrogatepass"))) > limit:
        raise BadValue(f"{what} takes {size} bytes as JSON; the limit is {limit}.", field=what)


class _Fault(Exception):
    """A part of a value that cannot be stored.

    Its path is put together while the error leaves the containers around it. A path for every part that is checked
    would cost as much as the parts times the length of their names.
    """

    def __init__(self, why: str, kind: type[BadValue] = BadValue) -> None:
        self.why = why
        self.kind = kind
        self.steps: list[str] = []

    def inside(self, key: Any) -> _Fault:
        self.steps.append(f".{shortened(str(key))}")
        return self

    def at(self, index: int) -> _Fault:
        self.steps.append(f"[{index}]")
        return self

    def as_error(self, what: str) -> BadValue:
        path = "".join((what, *reversed(self.steps)))
        return self.kind(f"{path} {self.why}", field=path)


def _refuse(value: Any, what: str) -> None:
    """Raise for the first part of a value that JSON or jsonb cannot hold."""
    try:
        _check(value, 0)
    except _Fault as fault:
        raise fault.as_error(what) from None


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, _PLAIN):
        return
    elif isinstance(value, float):
        _check_endless(value)
    elif isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise _Fault(f"is an integer of more than {MAX_DIGITS} digits.")
    elif depth >= MAX_DEPTH:
        raise _Fault(f"is nested more than {MAX_DEPTH} levels deep.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise _Fault(f"has the key {shortened(repr(key))}, but JSON keys are text.", NotJsonType)
            _check_text(key)
            try:
                _check(inner, depth + 1)
            except _Fault as fault:
                raise fault.inside(key) from None
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            try:
                _check(inner, depth + 1)
            except _Fault as fault:
                raise fault.at(index) from None
    else:
        raise _Fault(f"is a {type(value).__name__}, which JSON cannot hold.", NotJsonType)


def _check_endless(value: Any) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _Fault(f"is {value}, which JSON has no number for.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            try:
                _check_endless(inner)
            except _Fault as fault:
                raise fault.inside(key) from None
    elif isinstance(value, list | tuple | set | frozenset):
        for index, inner in enumerate(value):
            try:
                _check_endless(inner)
            except _Fault as fault:
                raise fault.at(index) from None


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise _Fault("contains a NUL character, which Postgres cannot store.")
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Fault("contains half a surrogate pair, which is not text.") from None


def _refuse_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found
