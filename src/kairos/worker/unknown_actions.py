"""Record actions and arguments of jobs in a worker's queues that its code lacks: newer code or another app has them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence

from kairos.logger import Logger
from kairos.machine.registry import Registry
from kairos.store.array_literals import texts
from kairos.worker.claim import Claim

log = Logger("kairos.worker")

_REMEMBERED = 60.0
# For how long jobs with unknown arguments are not picked; shorter, so that what is reported does not flicker.
_AVOIDED = 50.0


class UnknownActions:
    """The names met within the last minute; the worker reports them with its heartbeat."""

    def __init__(self) -> None:
        self._met: dict[str, float] = {}
        self._avoided: dict[tuple[str, str], tuple[float, str]] = {}

    def add_action(self, action: str, version: int) -> None:
        """Note jobs of an action that this worker does not know."""
        name = f"{action}@{version}"
        if name not in self._met:
            log.warning("jobs of an unknown action are left to others", action=action, version=version)
        self._met[name] = time.monotonic()

    def add_arguments(self, claim: Claim, arguments: Sequence[str], known: Collection[str]) -> str:
        """Note arguments that this code's version of an action does not take; return why the job is released."""
        machine, now = f"{claim.action}@{claim.version}", time.monotonic()
        self._met.update((argument_name(machine, each), now) for each in arguments)
        self._avoided[claim.queue, machine] = now + _AVOIDED, texts(sorted(known)) or "{}"
        return f"this worker's code does not know the argument {arguments[0]!r} of {machine}"

    def avoided(self, queue: str | None = None) -> str | None:
        """Return the machines that lately had jobs with unknown arguments, or None if there were none.

        It is a JSON object: the value of each machine is an array literal of its known arguments. The pick skips jobs
        that have others. Without `queue`, all queues are included.
        """
        if not self._avoided:
            return None
        now = time.monotonic()
        self._avoided = {place: each for place, each in self._avoided.items() if now < each[0]}
        known = {
            machine: each[1] for (met_in, machine), each in self._avoided.items() if queue in (None, met_in)
        }
        return json.dumps(known) if known else None

    def names(self) -> list[str]:
        now = time.monotonic()
        self._met = {name: at for name, at in self._met.items() if now - at < _REMEMBERED}
        return sorted(self._met)


def argument_name(machine: str, argument: str) -> str:
    """Name an argument as workers report it: send@1(user_id)."""
    return f"{machine}({argument})"


def known_names(registry: Registry) -> list[str]:
    """Return what a worker knows: each machine as action@version, and the arguments of those that are functions."""
    names = {f"{machine.name}@{machine.version}": machine for machine in registry}
    return sorted([*names, *(argument_name(name, each) for name in names for each in names[name].arguments)])
