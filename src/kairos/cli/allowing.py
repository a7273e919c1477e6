"""Whether a worker would run a command, and what to write if none would."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from kairos.actions import command, programs
from kairos.app import SyncKairos
from kairos.config import Settings
from kairos.errors import ConfigError
from kairos.verbs.machines import machines

Commands = Sequence[tuple[Sequence[str], Iterable[str]]]


def check(kairos: SyncKairos, wanted: Commands) -> str | None:
    """Refuse commands that neither this place nor a worker allows; a word if no worker is there to run them."""
    rows = [row for row in kairos.run(machines(["command"])) if row.workers]
    lists = [_here(kairos.settings), *(_there(row.input) for row in rows)]
    if not any(all(_allows(each, argv, env) for argv, env in wanted) for each in lists):
        raise ConfigError(
            "No worker may run this. Put this into kairos.toml where the workers start, and start them again:"
            f"\n\n{lines(kairos.settings, wanted)}"
        )
    if rows:
        return None
    return "No worker that runs commands is there now: start one with `kairos worker`."


def lines(settings: Settings, wanted: Commands) -> str:
    """The lines of kairos.toml that allow the commands, and all that was allowed before."""
    allow = [shlex.join(each) for each in settings.command_allow]
    allow += [shlex.join(argv) for argv, _ in wanted if not programs.is_allowed(argv, settings.command_allow)]
    env = [*settings.command_env, *(name for _, names in wanted for name in names)]
    found = [f"actions = {_list([*settings.actions, 'command'])}", f"command_allow = {_list(allow)}"]
    if env:
        found.append(f"command_env = {_list(env)}")
    return "\n".join(found)


def _list(values: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(values)), ensure_ascii=False)


def _here(settings: Settings) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
    return (settings.command_allow, settings.command_env) if "command" in settings.actions else ((), ())


def _there(schema: Any) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
    """What the newest worker that runs commands said it may run."""
    argv = schema.get("properties", {}).get("argv", {})
    return argv.get(command.ALLOW, ()), argv.get(command.ENV, ())


def _allows(
    lists: tuple[Sequence[Sequence[str]], Sequence[str]], argv: Sequence[str], env: Iterable[str]
) -> bool:
    allow, names = lists
    return programs.is_allowed(argv, allow) and set(env) <= set(names)
