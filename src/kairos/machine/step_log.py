"""`ctx.log`: write lines to the program's log and store them with the job, with redacted fields hidden."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from kairos import json_codec
from kairos.logger import traceback_of

LEVELS = ("debug", "info", "warning", "error", "critical")
REDACTED = "[redacted]"
LONGEST_LINE = 16 * 1024
_LONGEST_FIELDS = 16 * 1024
_LONGEST_VALUE = 4000
_LONGEST_TRACE = 8000
_DEEPEST = 8
_TOO_DEEP, _LOOP = "(too deep to show)", "(itself again)"
_ALIASES = {"warn": "warning", "fatal": "critical", "msg": "info", "exception": "error"}

Keep = Callable[[str, str, str | None], None]


class StepLog:
    """A logger with structlog's methods: `log.info("sending", user_id=7)`, `bind`, `exception`, `ainfo`…"""

    __slots__ = ("_bound", "_hide", "_keep", "_logger")

    def __init__(
        self,
        logger: Any,
        keep: Keep,
        hide: frozenset[str] = frozenset(),
        bound: Mapping[str, Any] | None = None,
    ) -> None:
        self._logger = logger
        self._keep = keep
        self._hide = hide
        self._bound = dict(bound or {})

    def bind(self, **fields: Any) -> StepLog:
        """Return a logger that adds these fields to every line."""
        shown = redact(fields, self._hide)
        return StepLog(self._logger.bind(**shown), self._keep, self._hide, {**self._bound, **shown})

    def new(self, **fields: Any) -> StepLog:
        """Return a logger with these fields and without those bound before."""
        return self.unbind(*self._bound).bind(**fields)

    def unbind(self, *names: str) -> StepLog:
        left = {name: value for name, value in self._bound.items() if name not in names}
        return StepLog(self._logger.try_unbind(*names), self._keep, self._hide, left)

    try_unbind = unbind

    def log(self, level: int | str, event: Any = "", *args: Any, **fields: Any) -> None:
        """Log at a level given by name, or by number as in `logging`."""
        name = level if isinstance(level, str) else LEVELS[max(0, min(int(level) // 10 - 1, 4))]
        getattr(self, name.lower())(event, *args, **fields)

    def __getattr__(self, name: str) -> Any:
        if name in LEVELS or name in _ALIASES:
            return lambda event="", *args, **fields: self._write(name, event, args, fields)
        if name.startswith("a") and (name[1:] in LEVELS or name[1:] in _ALIASES or name == "alog"):

            async def later(*args: Any, **fields: Any) -> None:
                getattr(self, name[1:])(*args, **fields)

            return later
        return getattr(self._logger, name)

    def _write(self, name: str, event: Any, args: tuple[Any, ...], fields: dict[str, Any]) -> None:
        error = fields.pop("exc_info", name == "exception" or None)
        shown = redact(fields, self._hide)
        if error and (stack := trace_of(error)) is not None:
            shown["stack"] = stack
        level = _ALIASES.get(name, name)
        line = _format(event, args)
        getattr(self._logger, level)(line, **shown)
        self._keep(level, line, as_json({**self._bound, **shown}))


def cut(text: str, limit: int = LONGEST_LINE) -> str:
    """Return storable text of at most `limit` bytes; a cut is marked with the number of missing bytes."""
    text = json_codec.printable(text, sys.maxsize)
    if len(text) <= limit // 4 or (size := len(encoded := text.encode())) <= limit:
        return text
    note = f"… (cut: it had {size} bytes)"
    return encoded[: limit - len(note.encode())].decode(errors="ignore") + note


def as_json(fields: Mapping[str, Any]) -> str | None:
    """Encode fields as strict JSON; values that JSON cannot hold become text. Never raises."""
    if not fields:
        return None
    kept: dict[str, Any] = {}
    room = _LONGEST_FIELDS
    for name, value in fields.items():
        shown = _safely(_as_json_value, value)
        text = json.dumps(shown, ensure_ascii=False)
        if len(text) > _LONGEST_VALUE:
            shown = text = cut(text, _LONGEST_VALUE)
        room -= len(name) + len(text)
        if room < 0:
            kept["…"] = f"{len(fields) - len(kept)} more fields were too long to keep"
            break
        kept[_text(name)] = shown
    return json.dumps(kept, ensure_ascii=False, allow_nan=False)


def redact(fields: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Hide the values under any of the names, at any depth. Never raises."""
    if not names:
        return dict(fields)
    return {key: REDACTED if key in names else _safely(_hide, value, names) for key, value in fields.items()}


def _hide(value: Any, names: frozenset[str], above: tuple[int, ...] = ()) -> Any:
    """Hide values recursively; a value nested too deep to search is hidden whole."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if id(value) in above or len(above) >= _DEEPEST:
        return _LOOP if id(value) in above else _TOO_DEEP
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return {key: REDACTED if key in names else _hide(inner, names, above) for key, inner in value.items()}
    return [_hide(inner, names, above) for inner in value]


def _safely(show: Callable[..., Any], value: Any, *more: Any) -> Any:
    try:
        return show(value, *more)
    except Exception as error:  # noqa: BLE001 (a user's mapping may do anything)
        return _placeholder(value, error)


def trace_of(error: Any, hide: Callable[[str], str] = str) -> str | None:
    """Return an error's traceback, its secrets hidden, cut at the beginning if it is long; None if there is none."""
    if isinstance(error, tuple):
        error = error[1]
    if not isinstance(error, BaseException):
        error = sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1]
    if error is None:
        return None
    try:
        # Hidden before it is cut: a part of a secret would not be found.
        text = hide(json_codec.printable(traceback_of(error), sys.maxsize))
    except Exception as broken:  # noqa: BLE001 (a user's __str__ or __repr__ may do anything)
        return f"(its traceback cannot be read: {type(broken).__name__})"
    return text if len(text) <= _LONGEST_TRACE else "… " + text[-_LONGEST_TRACE:]


def _format(event: Any, args: tuple[Any, ...]) -> str:
    """Return the line of an event, with its arguments as `logging` formats them."""
    line = _text(event)
    if not args:
        return cut(line)
    try:
        return cut(line % (args[0] if len(args) == 1 and isinstance(args[0], dict) and args[0] else args))
    except Exception:  # noqa: BLE001 (a wrong format costs the form of the line, not the step)
        return cut(f"{line} {' '.join(map(_text, args))}")


def _as_json_value(value: Any, above: tuple[int, ...] = ()) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return value if value.bit_length() < 64 else _text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if id(value) in above:
        return _LOOP
    if len(above) < _DEEPEST:
        above = (*above, id(value))
        if isinstance(value, Mapping):
            return {_text(key): _as_json_value(inner, above) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [_as_json_value(inner, above) for inner in value]
    return _text(value)


def _text(value: Any) -> str:
    try:
        return json_codec.printable(str(value), sys.maxsize)
    except Exception as error:  # noqa: BLE001 (a user's __str__ may do anything)
        return _placeholder(value, error)


def _placeholder(value: Any, error: Exception) -> str:
    return f"(a {type(value).__name__} that cannot be shown: {type(error).__name__})"
