"""The machines an app knows, by name and version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kairos.config import BUILT_IN
from kairos.errors import BadDefinition, UnknownAction
from kairos.machine.call import Options
from kairos.machine.definition import Machine
from kairos.machine.hooks import Hooks
from kairos.suggest import did_you_mean


class Registry:
    """Machines by name and version: new jobs start on the newest version, existing ones finish on their own."""

    def __init__(self) -> None:
        self._machines: dict[tuple[str, int], Machine] = {}
        self._options: dict[tuple[str, int], Options] = {}
        self._hooks: dict[tuple[str, int], Hooks] = {}
        self.limits: dict[str, Mapping[str, Any]] = {}  # by queue: the limits that its only action declares
        self.extra_queues: set[str] = set()  # where jobs of these machines also go
        self.hooks = Hooks()  # of machines that are added without hooks of their own

    def add(self, machine: Machine, options: Options | None = None, hooks: Hooks | None = None) -> None:
        key = (machine.name, machine.version)
        if key in self._machines:
            raise BadDefinition(
                f"Action {machine.name!r} version {machine.version} is registered twice: "
                "rename one, or raise its version."
            )
        self._refuse_shared_limits(machine, machine.queue in self.limits)
        self._machines[key] = machine
        self._options[key] = options or Options()
        self._hooks[key] = hooks or self.hooks

    def limit(self, machine: Machine, limits: Mapping[str, Any]) -> None:
        """Set the limits of an action. They are those of its queue, so no other action may use that queue."""
        self._refuse_shared_limits(machine, limited=True)
        self.limits[machine.queue] = limits

    def include(self, other: Registry) -> None:
        """Add what another registry has, so that one worker runs the machines of several apps."""
        for machine in other:
            if machine.name not in BUILT_IN or self.find(machine.name, machine.version) is None:
                self.add(machine, other.options(machine), other.hooks_of(machine))
            if machine.queue in other.limits:
                self.limit(machine, other.limits[machine.queue])
        self.extra_queues |= other.extra_queues

    def _refuse_shared_limits(self, machine: Machine, limited: bool) -> None:
        others = {each.name for each in self if each.queue == machine.queue} - {machine.name}
        if limited and others:
            names = (min(others), machine.name)
            first, second = names if machine.queue in self.limits else reversed(names)
            raise BadDefinition(
                f"The limits of {first!r} are those of its queue {machine.queue!r}, which {second!r} uses too: "
                "give one of them another queue."
            )

    def options(self, machine: Machine) -> Options:
        """The scheduling options a machine was registered with."""
        return self._options[machine.name, machine.version]

    def hooks_of(self, machine: Machine) -> Hooks:
        """The hooks of the app that registered a machine."""
        return self._hooks[machine.name, machine.version]

    def all_hooks(self) -> list[Hooks]:
        """The hooks of every app whose machines are here."""
        return list({id(hooks): hooks for hooks in (self.hooks, *self._hooks.values())}.values())

    @property
    def queues(self) -> list[str]:
        """The queues that a worker of these machines serves by default."""
        return sorted({machine.queue for machine in self} | self.extra_queues | {"default"})

    def find(self, name: str, version: int) -> Machine | None:
        return self._machines.get((name, version))

    def latest(self, name: str) -> Machine:
        versions = [machine for machine in self._machines.values() if machine.name == name]
        if not versions:
            raise unknown_action(name, sorted({machine.name for machine in self._machines.values()}))
        return max(versions, key=lambda machine: machine.version)

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._machines.values())

    def __len__(self) -> int:
        return len(self._machines)


class ExtendedRegistry(Registry):
    """A view of a user's registry with one machine of Kairos added; it shows machines that the user registers later."""

    def __init__(self, users: Registry, own: Machine) -> None:
        super().__init__()
        self._users = users
        self._own = own.name
        self.add(own)

    def find(self, name: str, version: int) -> Machine | None:
        return super().find(name, version) or self._users.find(name, version)

    def options(self, machine: Machine) -> Options:
        own = super().find(machine.name, machine.version)
        return self._users.options(machine) if own is None else super().options(machine)

    def hooks_of(self, machine: Machine) -> Hooks:
        own = super().find(machine.name, machine.version)
        return self._users.hooks_of(machine) if own is None else super().hooks_of(machine)

    def all_hooks(self) -> list[Hooks]:
        return self._users.all_hooks()

    def latest(self, name: str) -> Machine:
        return super().latest(name) if name == self._own else self._users.latest(name)

    def __iter__(self) -> Iterator[Machine]:
        return chain(self._users, super().__iter__())

    def __len__(self) -> int:
        return len(self._users) + super().__len__()


def unknown_action(name: str, known: Sequence[str]) -> UnknownAction:
    """Return the error for an unknown action; a built-in one says how to enable it."""
    if name in BUILT_IN:
        return UnknownAction(
            f'The built-in action {name!r} is off: put actions = ["{name}"] into kairos.toml to turn it on.',
            field="action",
        )
    return UnknownAction(f"No action is called {name!r}.{did_you_mean(name, known)}", field="action")
