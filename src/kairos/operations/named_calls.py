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


def calls(registry: Registry, asks: Sequence[NamedCall]) -> Operation[list[Call]]:
    """Return the validated calls; an error carries the position of its call in `index`.

    Machines whose code is loaded validate their own arguments; for others, the JSON schema that a worker registered
    is used. The job that a call runs again must exist.
    """
    loaded = {machine.name for machine in registry}
    not_loaded = sorted({ask.action for ask in asks} - loaded)
    stored = {row.name: row for row in (yield from machines(not_loaded))} if not_loaded else {}
    unknown = [ask.action for ask in asks if ask.action not in loaded and ask.action not in stored]
    others = sorted(loaded | {row.name for row in (yield from machines())}) if unknown else []
    again = sorted({ask.options["retry_of"] for ask in asks if "retry_of" in ask.options})
    known = {row["id"] for row in (yield Query("find_jobs", (again,)))} if again else set()
    made = []
    for index, ask in enumerate(asks):
        try:
            _refuse_own(ask)
            if (old := ask.options.get("retry_of")) is not None and old not in known:
                raise BadRequest(f"There is no job {old} to run again.", field="retry_of")
            if ask.action in loaded:
                machine = registry.latest(ask.action)
                made.append(_call(machine, ask, registry.options(machine)))
            elif (row := stored.get(ask.action)) is not None:
                made.append(_call(_machine(row), ask, read_options(row.options)))
            else:
                raise _unknown(ask.action, others)
        except BadRequest as error:
            error.index = index
            raise
    return made


def _refuse_own(ask: NamedCall) -> None:
    """Refuse actions and unique keys of Kairos itself: its jobs send signed webhooks, and its keys are never freed."""
    if ask.action.startswith(_OWN):
        raise BadRequest(
            f"{ask.action!r} is an internal action of Kairos and cannot be enqueued: choose another.",
            field="action",
        )
    unique = ask.options.get("unique")
    if isinstance(unique, str) and unique.startswith(_OWN):
        raise BadRequest(
            f"unique is {unique!r}; keys that begin with {_OWN!r} are Kairos' own: choose another.",
            field="unique",
        )


def _call(machine: CallableMachine, ask: NamedCall, base: Options) -> Call:
    options = replace(base, **_with_replaced_cleared(ask.options))
    if "when" in ask.options:
        # Raises here, with the call's position, rather than at the insert.
        instant(options, datetime.now(UTC))
    return make_call(machine, ask.input, options)


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
