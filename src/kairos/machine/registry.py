"""The machines an app knows, by name and version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kairos.config import BUILT_IN
from kairos.errors import BadDefinition, UnknownAction
from kairos.machine.call import Options
from kairos.machine.definition import Machine


class Registry:
    """Versions live side by side: new jobs begin on the newest, old ones finish on their own."""

    def __init__(self) -> None:
        self._machines: dict[tuple[str, int], Machine] = {}
        self._options: dict[tuple[str, int], Options] = {}

    def add(self, machine: Machine, options: Options | None = None) -> None:
        key = (machine.name, machine.version)
        if key in self._machines:
            raise BadDefinition(
                f"Action {machine.name!r} version {machine.version} is registered twice: "
                "rename one, or raise its version."
            )
        self._machines[key] = machine
        self._options[key] = options or Options()

    def options(self, machine: Machine) -> Options:
        """The scheduling options a machine was registered with."""
        return self._options[machine.name, machine.version]

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


def unknown_action(name: str, known: Sequence[str]) -> UnknownAction:
    """The refusal of a name that is not among those known; a built-in action is off until it is turned on."""
    if name in BUILT_IN:
        return UnknownAction(
            f'The built-in action {name!r} is off: put actions = ["{name}"] into kairos.toml to turn it on.',
            field="action",
        )
    return UnknownAction(
        f"No action is called {name!r}; this app knows {', '.join(known) or 'none'}.", field="action"
    )
