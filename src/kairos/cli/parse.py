"""Parse command-line values: arguments, instants, durations, rates, queues."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

from kairos import json_codec
from kairos.durations import Duration
from kairos.errors import BadRequest, BadValue


def text_or_input(text: str) -> str:
    """Return the text itself, or standard input for `-`."""
    return sys.stdin.read() if text == "-" else text


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def arguments(pairs: Sequence[str], text: str | None) -> dict[str, Any]:
    """Read a job's input from `key=value` pairs or from one JSON object."""
    if text is None:
        return _pairs(pairs)
    if pairs:
        raise BadRequest("Give key=value pairs or --input, not both.", field="input")
    value = json_codec.loads(text_or_input(text), "input")
    if not isinstance(value, dict):
        raise BadValue(f"input is {json.dumps(value)[:40]}; it must be a JSON object.", field="input")
    return value


def _pairs(pairs: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise BadRequest(f"{pair!r} is not key=value: write the name of an argument, = and its value.")
        if name in found:
            raise BadRequest(f"{name!r} is given twice.", field=name)
        found[name] = _value(text, name)
    return found


def _value(text: str, name: str) -> Any:
    """Read a value as JSON if it is JSON, else as text; NaN and Infinity are text."""
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        pass  # the codec below explains why
    except ValueError:
        return text
    return json_codec.loads(text, name)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def instant(text: str, option: str) -> datetime:
    """Read an ISO 8601 instant, which must have a time zone."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadRequest(
            f"{option} is {text!r}; write an instant such as 2027-01-31T09:00Z.", field=option
        ) from error
    if at.tzinfo is None:
        raise BadRequest(f"{option} is {text!r}, which names no time zone: add Z or +02:00.", field=option)
    return at


def length(text: str) -> Duration:
    """Read a duration; a bare number means seconds."""
    try:
        return float(text)
    except ValueError:
        return text


def rate(text: str, option: str) -> tuple[int, Duration]:
    """Read a rate such as `100/1m`."""
    count, slash, period = text.partition("/")
    if not slash or not (count.isascii() and count.isdigit()) or len(count) > 9:
        raise BadRequest(f"{option} is {text!r}; write how many in how long, such as 100/1m.", field=option)
    return int(count), length(period if period[:1].isdigit() else f"1{period}")


def queues(text: str) -> dict[str, int | None]:
    """Read queues such as `mail,reports=5`, optionally with a limit per worker."""
    found: dict[str, int | None] = {}
    for part in text.split(","):
        name, equals, count = part.strip().partition("=")
        if not name or name in found or (equals and not (count.isascii() and count.isdigit() and int(count))):
            raise BadRequest(
                f"--queues is {text!r}; write names, each once, such as mail,reports=5.", field="queues"
            )
        found[name] = int(count) if equals else None
    return found
