"""Register the built-in actions that the settings enable; their names are `BUILT_IN` in config.py."""

from __future__ import annotations

from kairos.config import Settings
from kairos.errors import ConfigError
from kairos.machine.definition import Machine
from kairos.machine.registry import Registry


def register(registry: Registry, settings: Settings) -> None:
    """Add the machines that are enabled."""
    for name in dict.fromkeys(settings.actions):
        registry.add(_machine(name, settings))


def _machine(name: str, settings: Settings) -> Machine:
    # Imported only when enabled: most apps need none of them.
    match name:
        case "http":
            from kairos.actions import http

            return http.machine(settings.http_allow)
        case "command":
            from kairos.actions import command

            return command.machine(settings.command_allow, settings.command_env)
        case _:
            raise ConfigError(f"The built-in action {name!r} has no machine; add it to actions/builtin.py.")
