"""Read a crontab line by line as cron does; each line becomes an entry for Kairos or a refusal with its reason."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kairos.actions import command_allowlist
from kairos.actions.shell_syntax import needs_shell
from kairos.errors import BadRequest, KairosError
from kairos.schedule import IntentError, Plan, when

_SETTING = re.compile(r"""\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*$""")
# Variables that configure cron itself, not the commands.
_CRON_VARIABLES = ("CRON_TZ", "MAILTO", "MAILFROM", "SHELL", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING")
_UNSUPPORTED_VARIABLES = {
    "RANDOM_DELAY": "give the schedules a jitter instead",
    "START_HOURS_RANGE": "write the hours into the lines themselves",
}
# Cron's defaults.
_PATH = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class CronEnvironment:
    """The variables in force for the following lines."""

    tz: str
    home: str
    user: str
    shell: str = "/bin/sh"
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that Kairos can run."""

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
    """One line that Kairos cannot run, and why."""

    number: int
    line: str
    why: str


def read(
    text: str,
    start: CronEnvironment,
    *,
    with_user: bool = False,
    allow_shell: bool = False,
    prefix: str = "crontab",
) -> Iterator[Entry | Refusal]:
    """Return an entry or a refusal for every line that is not blank or a comment, in order."""
    environment = start
    seen: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if (setting := _SETTING.match(line)) is not None:
                environment = _set(environment, setting[2], _unquoted(setting[3]))
            else:
                yield _entry(number, line, environment, with_user, allow_shell, prefix, seen)
        except IntentError as error:
            yield Refusal(number, line, str(error))
        except KairosError as error:
            yield Refusal(number, line, error.message)


def _set(environment: CronEnvironment, name: str, value: str) -> CronEnvironment:
    if name in _UNSUPPORTED_VARIABLES:
        raise BadRequest(f"{name} has no place in Kairos: {_UNSUPPORTED_VARIABLES[name]}.")
    if name == "CRON_TZ":
        return replace(environment, tz=value)
    if name == "SHELL":
        return replace(environment, shell=value)
    if name in _CRON_VARIABLES:
        return environment  # output goes to the job's log; no mail is sent
    if name == "HOME":
        environment = replace(environment, home=value)
    return replace(environment, env={**environment.env, name: value})


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def _entry(
    number: int,
    line: str,
    environment: CronEnvironment,
    with_user: bool,
    allow_shell: bool,
    prefix: str,
    seen: dict[str, int],
) -> Entry:
    fields, rest = _fields(line)
    if with_user:
        user, rest = [*rest.split(None, 1), ""][:2]
        if user != environment.user:
            raise BadRequest(
                f"it runs as {user}, and a worker runs commands as itself, here {environment.user}: "
                f"import it with --user {user} for workers of {user}."
            )
    command, stdin = _percent(rest.strip())
    if not command:
        raise BadRequest("it has no command.")
    argv = _argv(command, environment, allow_shell)
    plan = when(fields, tz=environment.tz)
    return Entry(
        number,
        line,
        _name(prefix, argv, command, seen),
        fields,
        plan,
        argv,
        environment.home,
        stdin,
        environment.env,
    )


def _fields(line: str) -> tuple[str, str]:
    """Split a line into its time fields and the command."""
    count = 1 if line.startswith("@") else 5
    parts = line.split(None, count)
    if line.startswith("-"):
        raise BadRequest("a leading - asks cron not to log it: leave it out.")
    if len(parts) <= count:
        raise BadRequest("it is neither a setting nor a line with times and a command.")
    return " ".join(parts[:count]), " ".join(parts[count:]) if count == 1 else parts[count]


def _percent(rest: str) -> tuple[str, str | None]:
    """Split off a command's input: cron ends a command at its first %, and each further % is a newline of input."""
    parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", rest)]
    if len(parts) == 1:
        return parts[0], None
    return parts[0].rstrip(), "\n".join(parts[1:]) + "\n"


def _argv(command: str, environment: CronEnvironment, allow_shell: bool) -> tuple[str, ...]:
    token = needs_shell(command)
    if token is not None:
        if not allow_shell:
            raise BadRequest(f"it needs a shell for {token}: --allow-shell lets one run it.")
        return command_allowlist.locate(environment.shell), "-c", command
    words = shlex.split(command)
    return command_allowlist.locate(
        words[0], Path(environment.home), environment.env.get("PATH", _PATH)
    ), *words[1:]


def _name(prefix: str, argv: tuple[str, ...], command: str, seen: dict[str, int]) -> str:
    """Name a schedule after its command, so that a second import finds it; a repeated command gets a number."""
    program = Path(command.split()[0]).name if argv[1:2] == ("-c",) else Path(argv[0]).name
    program = re.sub(r"[^A-Za-z0-9._-]", "", program)[:60] or "line"
    name = f"{prefix}:{program}-{hashlib.sha256(command.encode()).hexdigest()[:6]}"
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"
