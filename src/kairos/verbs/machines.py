"""The machines that processes registered: known to API, CLI and dashboard without the code."""

from __future__ import annotations

from collections.abc import Iterable

from kairos import codec
from kairos.errors import NotFound
from kairos.fsm import render
from kairos.machine.definition import Machine
from kairos.machine.names import check_name
from kairos.machine.registry import Registry
from kairos.machine.stored import write_options
from kairos.store import rows
from kairos.store.columns import microseconds, plain, texts
from kairos.store.query import Query, Verb
from kairos.store.rows import MachineRow
from kairos.verbs.queue import ALIVE


def register(registry: Registry) -> Verb[None]:
    """Tell the database every machine of a registry, in one statement."""
    known: list[Machine] = list(registry)
    if not known:
        return
    yield Query(
        "save_machines",
        (
            texts([machine.name for machine in known]),
            plain([machine.version for machine in known]),
            texts([machine.queue for machine in known]),
            microseconds(machine.ttl for machine in known),
            texts([machine.initial for machine in known]),
            texts([codec.dumps(machine.state.json_schema(), "input") for machine in known]),
            texts([codec.dumps(render.as_json(machine.spec), "diagram") for machine in known]),
            texts([texts(sorted(machine.redact)) if machine.redact else None for machine in known]),
            texts([codec.dumps(write_options(registry.options(machine)), "options") for machine in known]),
        ),
    )


def machines(
    names: Iterable[str] | None = None, *, after: str | None = None, limit: int | None = None
) -> Verb[list[MachineRow]]:
    """Every version of every machine that was registered, by name; or of at most `limit` machines after a name."""
    found = yield Query("list_machines", (None if names is None else list(names), ALIVE, after, limit))
    return [rows.machine(row) for row in found]


def machine(name: str) -> Verb[list[MachineRow]]:
    """Every version of one machine, the newest last."""
    check_name(name, "machine")
    found = yield from machines([name])
    if not found:
        raise NotFound(f"There is no machine {name!r}; a worker registers those it knows when it starts.")
    return found
