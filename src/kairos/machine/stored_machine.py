"""A machine as registered in the database: enough to enqueue its jobs without its code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NoReturn

from kairos import json_codec
from kairos.errors import BadArguments
from kairos.extras import import_extra
from kairos.machine.call import ORIGIN, Options

_DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class StoredMachine:
    """The part of a machine that a call needs; arguments are validated against the registered JSON schema."""

    name: str
    version: int
    queue: str
    initial: str
    ttl: timedelta | None
    redact: Sequence[str]
    schema: Any
    search: Sequence[str] = ()

    def first_state(self, values: Mapping[str, Any]) -> str:
        """Validate the arguments and return them as JSON text; raises `BadArguments` naming the field."""
        text = json_codec.dumps(dict(values), "input")
        for error in _validator(json.dumps(self.schema, sort_keys=True)).iter_errors(dict(values)):
            field = json_codec.shortened(".".join(str(part) for part in error.instance_path))
            where = f"argument {field!r}" if field else "arguments"
            raise BadArguments(
                f"{self.name}: {where}: {json_codec.printable(error.message, 500)}.", field=field or None
            )
        return text

    def load(self, text: str) -> Any:
        """Refuse to read the arguments: only code gives them their types, and computes a key from them."""
        raise BadArguments(
            f"The key of {self.name!r} is computed by its code, which is not loaded here: give a key.",
            field="key",
        )


def write_options(options: Options) -> dict[str, Any]:
    """Return the options that differ from the defaults, as JSON values."""
    return {
        field.name: _plain(value)
        for field in fields(Options)
        if field.init and field.name not in ORIGIN
        if (value := getattr(options, field.name)) != getattr(_DEFAULTS, field.name)
    }


def read_options(stored: Mapping[str, Any]) -> Options:
    """Read options written by `write_options`."""
    values = dict(stored)
    for name in ("run_at", "expires_at"):
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    if isinstance(values.get("key"), dict):
        values["key"] = _by_code
    if "reply_to" in values:
        values["reply_to"] = tuple(values["reply_to"])
    return Options(**values)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    jsonschema_rs = import_extra("jsonschema_rs", "server", "Checking arguments against a stored JSON schema")
    # The value is masked in messages because it may be redacted; references are never fetched.
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
    if callable(value):
        return {"computed": True}  # by code, which is not stored
    return list(value) if isinstance(value, tuple | list) else value


def _by_code() -> str:
    """Take the place of a key function that is only in the action's code."""
    raise NotImplementedError
