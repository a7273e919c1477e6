"""Reads a crontab as cron does, line by line, into what Kairos would run; what it cannot hold, it refuses by name."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kairos.actions import programs
from kairos.actions.shell import needs_shell
from kairos.errors import BadRequest, KairosError
from kairos.schedule import IntentError, Plan, when

_SETTING = re.compile(r"""\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*$""")
# What cron itself reads, and no command does.
_CRONS_OWN = ("CRON_TZ", "MAILTO", "MAILFROM", "SHELL", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING")
_UNHELD = {
    "RANDOM_DELAY": "give the schedules a jitter instead",
    "START_HOURS_RANGE": "write the hours into the lines themselves",
}
# Cron's own, where a crontab says nothing of it.
_PATH = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the lines above say for the lines below."""

    tz: str
    home: str
    user: str
    shell: str = "/bin/sh"
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that can live in Kairos."""

    number: int
    line: str
    name: str
    fields: str
    plan: Plan
    argv: tuple[str, ...]
    cwd: str
    stdin: str | None
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One line that cannot, and why."""

    number: int
    line: str
    why: str


def read(
    text: str,
    start: Surroundings,
    *,
    with_user: bool = False,
    allow_shell: bool = False,
    prefix: str = "crontab",
) -> Iterator[Entry | Refusal]:
    """Every line that means something, in order."""
    around = start
    seen: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if (setting := _SETTING.match(line)) is not None:
                around = _set(around, setting[2], _unquoted(setting[3]))
            else:
                yield _entry(number, line, around, with_user, allow_shell, prefix, seen)
        except IntentError as error:
            yield Refusal(number, line, str(error))
        except KairosError as error:
            yield Refusal(number, line, error.message)


def _set(around: Surroundings, name: str, value: str) -> Surroundings:
    if name in _UNHELD:
        raise BadRequest(f"{name} has no place in Kairos: {_UNHELD[name]}.")
    if name == "CRON_TZ":
        return replace(around, tz=value)
    if name == "SHELL":
        return replace(around, shell=value)
    if name in _CRONS_OWN:
        return around  # what a job prints is in its log, and nobody is sent mail
    if name == "HOME":
        around = replace(around, home=value)
    return replace(around, env={**around.env, name: value})


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def _entry(
    number: int,
    line: str,
    around: Surroundings,
    with_user: bool,
    allow_shell: bool,
    prefix: str,
    seen: dict[str, int],
) -> Entry:
    fields, rest = _fields(line)
    if with_user:
        user, rest = [*rest.split(None, 1), ""][:2]
        if user != around.user:
            raise BadRequest(
                f"it runs as {user}, and a worker runs commands as itself, here {around.user}: "
                f"import it with --user {user} for workers of {user}."
            )
    command, stdin = _percent(rest.strip())
    if not command:
        raise BadRequest("it has no command.")
    argv = _argv(command, around, allow_shell)
    plan = when(fields, tz=around.tz)
    return Entry(
        number,
        line,
        _name(prefix, argv, command, seen),
        fields,
        plan,
        argv,
        around.home,
        stdin,
        around.env,
    )


def _fields(line: str) -> tuple[str, str]:
    """The times and the rest of a line."""
    count = 1 if line.startswith("@") else 5
    parts = line.split(None, count)
    if line.startswith("-"):
        raise BadRequest("a leading - asks cron not to log it: leave it out.")
    if len(parts) <= count:
        raise BadRequest("it is neither a setting nor a line with times and a command.")
    return " ".join(parts[:count]), " ".join(parts[count:]) if count == 1 else parts[count]


def _percent(rest: str) -> tuple[str, str | None]:
    """The command, and what it reads: cron ends the one at the first % and begins a line at each further one."""
    parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", rest)]
    if len(parts) == 1:
        return parts[0], None
    return parts[0].rstrip(), "\n".join(parts[1:]) + "\n"


def _argv(command: str, around: Surroundings, allow_shell: bool) -> tuple[str, ...]:
    token = needs_shell(command)
    if token is not None:
        if not allow_shell:
            raise BadRequest(f"it needs a shell for {token}: --allow-shell lets one run it.")
        return programs.locate(around.shell), "-c", command
    words = shlex.split(command)
    return programs.locate(words[0], Path(around.home), around.env.get("PATH", _PATH)), *words[1:]


def _name(prefix: str, argv: tuple[str, ...], command: str, seen: dict[str, int]) -> str:
    """The same command has the same name, whenever it is imported; a second line with it is its second."""
    program = Path(command.split()[0]).name if argv[1:2] == ("-c",) else Path(argv[0]).name
    program = re.sub(r"[^A-Za-z0-9._-]", "", program)[:60] or "line"
    name = f"{prefix}:{program}-{hashlib.sha256(command.encode()).hexdigest()[:6]}"
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"
