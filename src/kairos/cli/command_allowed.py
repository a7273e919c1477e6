"""Check whether a worker would run a command, and say how to allow it if not."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from kairos.actions import command, command_allowlist
from kairos.app import SyncKairos
from kairos.config import Settings
from kairos.errors import ConfigError
from kairos.operations.machines import machines

Commands = Sequence[tuple[Sequence[str], Iterable[str]]]


def check(kairos: SyncKairos, wanted: Commands) -> str | None:
    """Raise for commands that neither the settings nor a worker allow; warn if no live worker runs commands."""
    rows = [row for row in kairos.run(machines(["command"])) if row.workers]
    lists = [_allowed_here(kairos.settings), *(_allowed_by_worker(row.input) for row in rows)]
    if not any(all(_allows(each, argv, env) for argv, env in wanted) for each in lists):
        raise ConfigError(
            "No worker may run this. Put this into kairos.toml where the workers start, and start them again:"
            f"\n\n{lines(kairos.settings, wanted)}"
        )
    if rows:
        return None
    return "No worker that runs commands is there now: start one with `kairos worker`."


def lines(settings: Settings, wanted: Commands) -> str:
    """Return the lines for kairos.toml that allow these commands in addition to those allowed already."""
    allow = [shlex.join(each) for each in settings.command_allow]
    allow += [
        shlex.join(argv)
        for argv, _ in wanted
        if not command_allowlist.is_allowed(argv, settings.command_allow)
    ]
    env = [*settings.command_env, *(name for _, names in wanted for name in names)]
    found = [f"actions = {_list([*settings.actions, 'command'])}", f"command_allow = {_list(allow)}"]
    if env:
        found.append(f"command_env = {_list(env)}")
    return "\n".join(found)


def _list(values: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(values)), ensure_ascii=False)


def _allowed_here(settings: Settings) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
    return (settings.command_allow, settings.command_env) if "command" in settings.actions else ((), ())


def _allowed_by_worker(schema: Any) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
    """Return what the newest registered worker may run."""
    argv = schema.get("properties", {}).get("argv", {})
    return argv.get(command.ALLOW, ()), argv.get(command.ENV, ())


def _allows(
    lists: tuple[Sequence[Sequence[str]], Sequence[str]], argv: Sequence[str], env: Iterable[str]
) -> bool:
    allow, names = lists
    return command_allowlist.is_allowed(argv, allow) and set(env) <= set(names)
