"""JSON documents that redact fields or join several values; all others come from `kairos.shapes.document`.

HTTP responses and `--json` use the same documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from kairos import shapes
from kairos.fsm import render
from kairos.fsm.lifecycle import LIVE
from kairos.machine.definition import Machine
from kairos.machine.registry import Registry
from kairos.machine.step_log import REDACTED
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job
from kairos.shapes.machine import MachineRow
from kairos.shapes.queue import Queue
from kairos.shapes.schedule import Schedule

_COUNTS = (*LIVE, "atLeast")


def encode(document: Any, *, indent: int | None = None) -> str:
    """Encode a document as JSON text."""
    return json.dumps(
        document,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=None if indent else (",", ":"),
        default=_plain,
    )


def job(job: Job, registry: Registry | None = None, *, with_state: bool = True) -> dict[str, Any]:
    """Return a job's document with its input redacted; lists leave out the state of its machine."""
    return {
        **shapes.document(job),
        "input": redacted_input(job, registry),
        "machineState": redact(job.machine_state, redacted_fields(job, registry)) if with_state else None,
    }


def schedule(schedule: Schedule, registry: Registry | None = None) -> dict[str, Any]:
    """Return a schedule's document with its input redacted."""
    fields = redacted_by_action(schedule.action, schedule.redact, registry)
    return {**shapes.document(schedule), "input": redact(schedule.input, fields)}


def settings(queue: Queue) -> dict[str, Any]:
    """Return a queue's settings without its counts, which operations that change a queue do not compute."""
    return {name: value for name, value in shapes.document(queue).items() if name not in _COUNTS}


def registered(versions: Sequence[MachineRow]) -> dict[str, Any]:
    """Return the newest registered version of a machine, with the numbers of all versions, newest last."""
    return {**shapes.document(versions[-1]), "versions": [each.version for each in versions]}


def machine(machine: Machine) -> dict[str, Any]:
    """Return the document of a machine whose code is loaded in this process."""
    return {
        "name": machine.name,
        "version": machine.version,
        "queue": machine.queue,
        "ttl": machine.ttl,
        "input": machine.state.json_schema(),
        "diagram": render.as_json(machine.spec),
    }


def history(rows: Sequence[HistoryRow], job: Job, registry: Registry | None = None) -> list[dict[str, Any]]:
    """Return the documents of a job's history; the states that its machine kept are redacted as its input is."""
    fields = redacted_fields(job, registry)
    return [{**shapes.document(row), "state": redact(row.state, fields)} for row in rows]


def redacted_by_action(action: str, stored: Sequence[str], registry: Registry | None) -> frozenset[str]:
    """Return the redacted fields of an action's input: those stored, and those that code loaded here declares."""
    known = [machine.redact for machine in registry or () if machine.name == action]
    return frozenset(stored).union(*known)


def redacted_input(job: Job, registry: Registry | None) -> Any:
    """Return the job's input with redacted fields replaced.

    A field is redacted if the machine redacted it when the job was accepted, or redacts it now.
    """
    return redact(job.input, redacted_fields(job, registry))


def redacted_fields(job: Job, registry: Registry | None) -> set[str]:
    """Return the redacted fields of the job's input and states."""
    machine = registry.find(job.action, job.version) if registry is not None else None
    return {*job.redact, *(machine.redact if machine is not None else ())}


def redact(value: Any, fields: Iterable[str]) -> Any:
    """Replace the fields by "[redacted]"; `card.number` names a nested field, also in each item of a list."""
    for field in fields:
        value = _redact_field(value, field)
    return value


def _redact_field(value: Any, field: str) -> Any:
    if isinstance(value, list):
        return [_redact_field(each, field) for each in value]
    if not isinstance(value, dict):
        return value
    if field in value:
        return {**value, field: REDACTED}
    head, dot, rest = field.partition(".")
    return {**value, head: _redact_field(value[head], rest)} if dot and head in value else value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no place in a JSON document")
