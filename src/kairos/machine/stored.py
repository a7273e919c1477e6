"""A machine as the database knows it: enough to accept its jobs without its code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs

from kairos import codec
from kairos.errors import BadArguments
from kairos.machine.call import ORIGIN, Options

_DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class StoredMachine:
    """What a call needs of a machine; its arguments are held to the JSON schema that was registered."""

    name: str
    version: int
    queue: str
    initial: str
    ttl: timedelta | None
    redact: Sequence[str]
    schema: Any

    def first_state(self, values: Mapping[str, Any]) -> str:
        """The arguments of a call as JSON text, or `BadArguments` with the field named."""
        text = codec.dumps(dict(values), "input")
        for error in _validator(json.dumps(self.schema, sort_keys=True)).iter_errors(dict(values)):
            field = ".".join(str(part) for part in error.instance_path)
            where = f"argument {field!r}" if field else "arguments"
            raise BadArguments(f"{self.name}: {where}: {error.message}.", field=field or None)
        return text


def write_options(options: Options) -> dict[str, Any]:
    """The options that differ from the defaults, as JSON holds them."""
    return {
        field.name: _plain(value)
        for field in fields(Options)
        if field.init and field.name not in ORIGIN
        if (value := getattr(options, field.name)) != getattr(_DEFAULTS, field.name)
    }


def read_options(stored: Mapping[str, Any]) -> Options:
    """The options that `write_options` wrote."""
    values = dict(stored)
    for name in ("run_at", "expires_at"):
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    if "reply_to" in values:
        values["reply_to"] = tuple(values["reply_to"])
    return Options(**values)


@lru_cache(maxsize=256)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    # Without the value in its messages: it may be what nobody is to be shown. And without the network.
    return jsonschema_rs.Draft202012Validator(
        json.loads(schema), validate_formats=True, mask="the value", retriever=_refuse_reference
    )


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"The schema refers to {uri}, which is not fetched.")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return list(value) if isinstance(value, tuple | list) else value
