"""Build calls from the names of actions, also of machines whose code is not loaded in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

from kairos.config import BUILT_IN
from kairos.errors import BadRequest, UnknownAction
from kairos.machine.call import Call, CallableMachine, Options, make_call
from kairos.machine.registry import Registry, unknown_action
from kairos.machine.stored_machine import StoredMachine, read_options
from kairos.operations.enqueue_jobs import instant
from kairos.operations.machines import machines
from kairos.shapes.machine import MachineRow
from kairos.store.query import Operation, Query


@dataclass(frozen=True, slots=True)
class NamedCall:
    """An action by name, its arguments, and the options that override the action's own."""

    action: str
    input: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


# The prefix of actions and unique keys that are reserved for Kairos itself.
_OWN = "kairos."


def calls(registry: Registry, named_calls: Sequence[NamedCall]) -> Operation[list[Call]]:
    """Return the validated calls; an error carries the position of its call in `index`.

    Machines whose code is loaded validate their own arguments; for others, the JSON schema that a worker registered
    is used. The job that a call runs again must exist.
    """
    loaded = {machine.name for machine in registry}
    not_loaded = sorted({named.action for named in named_calls} - loaded)
    stored = {row.name: row for row in (yield from machines(not_loaded))} if not_loaded else {}
    unknown = [
        named.action for named in named_calls if named.action not in loaded and named.action not in stored
    ]
    others = sorted(loaded | {row.name for row in (yield from machines())}) if unknown else []
    again = sorted({named.options["retry_of"] for named in named_calls if "retry_of" in named.options})
    known = {row["id"] for row in (yield Query("find_jobs", (again,)))} if again else set()
    made = []
    for index, named in enumerate(named_calls):
        try:
            _refuse_own(named)
            if (old := named.options.get("retry_of")) is not None and old not in known:
                raise BadRequest(f"There is no job {old} to run again.", field="retry_of")
            if named.action in loaded:
                machine = registry.latest(named.action)
                made.append(_call(machine, named, registry.options(machine)))
            elif (row := stored.get(named.action)) is not None:
                made.append(_call(_machine(row), named, read_options(row.options)))
            else:
                raise _unknown(named.action, others)
        except BadRequest as error:
            error.index = index
            raise
    return made


def _refuse_own(named: NamedCall) -> None:
    """Refuse actions and unique keys of Kairos itself: its jobs send signed webhooks, and its keys are never freed."""
    if named.action.startswith(_OWN):
        raise BadRequest(
            f"{named.action!r} is an internal action of Kairos and cannot be enqueued: choose another.",
            field="action",
        )
    unique = named.options.get("unique")
    if isinstance(unique, str) and unique.startswith(_OWN):
        raise BadRequest(
            f"unique is {unique!r}; keys that begin with {_OWN!r} are Kairos' own: choose another.",
            field="unique",
        )


def _call(machine: CallableMachine, named: NamedCall, base: Options) -> Call:
    options = replace(base, **_with_replaced_cleared(named.options))
    if "when" in named.options:
        # Raises here, with the call's position, rather than at the insert.
        instant(options, datetime.now(UTC))
    return make_call(machine, named.input, options)


def _with_replaced_cleared(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed options, with None for the action's own options that they replace."""
    settled = dict(changes)
    for group in (("run_at", "delay", "when"), ("ttl", "expires_at")):
        if any(name in changes for name in group):
            settled.update({name: None for name in group if name not in changes})
    return settled


def _machine(row: MachineRow) -> StoredMachine:
    return StoredMachine(
        row.name, row.version, row.queue, row.step, row.ttl, row.redact, row.input, row.search
    )


def _unknown(action: str, known: Sequence[str]) -> UnknownAction:
    if action in BUILT_IN:
        return unknown_action(action, known)
    near = get_close_matches(action, known, n=3)
    hint = (
        f"did you mean {' or '.join(repr(name) for name in near)}?"
        if near
        else "no worker has registered it: start one that knows it, or correct the name."
    )
    return UnknownAction(f"No action is called {action!r}; {hint}", field="action")
