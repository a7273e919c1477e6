"""Check a command against the allow-list, and build its environment."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from kairos.errors import BadRequest

# The only variables of the worker's environment that a command inherits.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR")


def locate(program: str, cwd: Path | None = None, path: str | None = None) -> str:
    """Return the absolute path of a program: a bare name is searched in `path`, a relative path starts at `cwd`."""
    if not program or "\x00" in program:
        raise BadRequest("argv names no program.", field="argv")
    if "/" not in program:
        found = shutil.which(program, path=path)
        if found is None:
            raise BadRequest(
                f"There is no program {program!r} on the path: write its whole path.", field="argv"
            )
        program = found
    whole = Path(program) if cwd is None or Path(program).is_absolute() else cwd / program
    # The folder is resolved, the name is not: `ls` may be a link to a program that behaves by its name (busybox).
    return str(Path(os.path.realpath(whole.parent)) / whole.name)


def is_allowed(argv: Sequence[str], allowed: Sequence[Sequence[str]]) -> bool:
    """Whether the list has this program with a prefix of these arguments."""
    return any(
        locate(each[0]) == argv[0] and tuple(argv[1 : len(each)]) == tuple(each[1:])
        for each in allowed
        if each
    )


def check(argv: Sequence[str], allowed: Sequence[Sequence[str]]) -> list[str]:
    """Return the argv with the program's absolute path, or raise an error that says how to allow it."""
    whole = [locate(argv[0]), *argv[1:]] if argv else []
    if not whole or not argv[0].startswith("/"):
        raise BadRequest("argv must begin with a program's whole path.", field="argv")
    if not is_allowed(whole, allowed):
        raise BadRequest(
            f"{shlex.join(whole)} is not among the commands that this worker may run: {how_to_allow(whole)}.",
            field="argv",
        )
    return whole


def how_to_allow(argv: Sequence[str]) -> str:
    return f'add "{shlex.join(argv)}" to command_allow in kairos.toml'


def environment(given: Mapping[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """Return the environment of a command: a few of the worker's variables, and those that the job may set."""
    for name in given:
        if name not in allowed:
            raise BadRequest(
                f"A job may not set {name}: add it to command_env in kairos.toml if it may.", field="env"
            )
    kept = {name: os.environ[name] for name in (*_INHERITED, *allowed) if name in os.environ}
    return {**kept, **given}
