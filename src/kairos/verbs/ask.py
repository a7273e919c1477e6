"""Calls by name: what a request asks for, made into a call of a machine whose code may be elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Protocol

from kairos.config import BUILT_IN
from kairos.errors import BadRequest, UnknownAction
from kairos.machine.call import Call, Options
from kairos.machine.registry import Registry, unknown_action
from kairos.machine.stored import StoredMachine, read_options
from kairos.store.query import Verb
from kairos.store.rows import MachineRow
from kairos.verbs.accept import instant
from kairos.verbs.machines import machines


@dataclass(frozen=True, slots=True)
class Ask:
    """An action by name, its arguments, and the options that are to differ from the action's own."""

    action: str
    input: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


# Of actions and of unique keys: what begins so is made by Kairos itself and by nobody who asks.
_OWN = "kairos."


class Callable(Protocol):
    """What a call needs of a machine, be it code or a row."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def queue(self) -> str: ...
    @property
    def initial(self) -> str: ...
    @property
    def ttl(self) -> Any: ...
    @property
    def redact(self) -> Any: ...
    def first_state(self, values: Mapping[str, Any]) -> str: ...


def calls(registry: Registry, asks: Sequence[Ask]) -> Verb[list[Call]]:
    """The call of each, checked; one that is wrong raises with its place in `index`.

    Code that is loaded here checks its own arguments; any other action is held to the JSON schema that a worker
    registered for it.
    """
    loaded = {machine.name for machine in registry}
    strange = sorted({ask.action for ask in asks} - loaded)
    stored = {row.name: row for row in (yield from machines(strange))} if strange else {}
    unknown = [ask.action for ask in asks if ask.action not in loaded and ask.action not in stored]
    others = sorted(loaded | {row.name for row in (yield from machines())}) if unknown else []
    made = []
    for index, ask in enumerate(asks):
        try:
            _refuse_own(ask)
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


def _refuse_own(ask: Ask) -> None:
    """Whoever may enqueue must not speak in the name of Kairos: its jobs are signed, and its keys are for ever."""
    if ask.action.startswith(_OWN):
        raise BadRequest(
            f"{ask.action!r} is an action of Kairos' own, which nobody else starts: choose another.",
            field="action",
        )
    unique = ask.options.get("unique")
    if isinstance(unique, str) and unique.startswith(_OWN):
        raise BadRequest(
            f"unique is {unique!r}; keys that begin with {_OWN!r} are Kairos' own: choose another.",
            field="unique",
        )


def _call(machine: Callable, ask: Ask, base: Options) -> Call:
    options = replace(base, **_settled(ask.options))
    if "when" in ask.options:
        instant(options, datetime.now(UTC))  # refused here, with its place, rather than when it is accepted
    return Call(
        action=machine.name,
        version=machine.version,
        step=machine.initial,
        state=machine.first_state(ask.input),
        queue=options.queue or machine.queue,
        ttl=machine.ttl,
        options=options,
        redact=tuple(sorted(machine.redact)),
    )


def _settled(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, and what of the action's own options they take the place of."""
    settled = dict(changes)
    for group in (("run_at", "delay", "when"), ("ttl", "expires_at")):
        if any(name in changes for name in group):
            settled.update({name: None for name in group if name not in changes})
    return settled


def _machine(row: MachineRow) -> StoredMachine:
    return StoredMachine(row.name, row.version, row.queue, row.step, row.ttl, row.redact, row.input)


def _unknown(action: str, known: Sequence[str]) -> UnknownAction:
    if action in BUILT_IN:
        return unknown_action(action, known)
    near = get_close_matches(action, known, n=3)
    hint = (
        f"did you mean {' or '.join(repr(name) for name in near)}?"
        if near
        else "no worker has registered it: start one that knows it, or mend the name."
    )
    return UnknownAction(f"No action is called {action!r}; {hint}", field="action")
