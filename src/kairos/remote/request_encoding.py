"""Encode Python names and values for the service's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from urllib.parse import quote

from pydantic.alias_generators import to_camel

from kairos.durations import duration
from kairos.errors import BadRequest
from kairos.machine.backoff import Backoff


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """One job to enqueue: an action's name, its arguments and its options."""

    action: str
    input: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return {"action": self.action, "input": dict(self.input), **to_json_object(_timed(self.options))}


def to_json_object(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert names to camelCase and values to JSON; leave out values that are None."""
    return {to_camel(name): to_json_value(each) for name, each in given.items() if each is not None}


def to_json_value(given: Any) -> Any:
    if isinstance(given, datetime):
        return given.isoformat()
    if isinstance(given, timedelta):
        return given.total_seconds()
    if isinstance(given, Backoff):
        if given.only or given.never or given.within is not None:
            raise BadRequest(
                "Over HTTP a retry policy has no only, never or within: set them where the action is declared."
            )
        return given.as_json()
    return list(given) if isinstance(given, tuple | set | frozenset) else given


def path_segment(name: str) -> str:
    """Quote a name as one segment of a path."""
    return quote(name, safe="")


def _timed(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a delay to `when: in n seconds`, which counts by the database's clock; round up to whole seconds."""
    if options.get("delay") is None:
        return options
    if options.get("when") is not None or options.get("run_at") is not None:
        raise BadRequest("delay, when and run_at say the same thing: give one of them.", field="delay")
    seconds = ceil(duration(options["delay"], "delay").total_seconds())
    rest = {name: each for name, each in options.items() if name != "delay"}
    return {**rest, "when": f"in {seconds} seconds"} if seconds else rest
