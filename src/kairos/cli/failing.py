"""How a command fails: one sentence on standard error, and an exit code that means something."""

from __future__ import annotations

import sys

import typer

from kairos.cli.load import BadApp
from kairos.cli.tables import harmless
from kairos.errors import BadRequest, KairosError
from kairos.schedule import IntentError

USAGE = BadRequest.exit_code
CANNOT_READ = 74  # EX_IOERR: a file or a folder, not the database

# Every complaint about how a command was called; typer names only this one of them.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def report(error: Exception) -> int:
    """Say why, and answer the exit code; what nobody expected is raised again, and Python shows where it was."""
    match error:
        case BadApp():
            _say(error.message, error.trace)
            return error.exit_code
        case IntentError():
            _say(str(error))
            return error.exit_code
        case KairosError():
            _say(error.message)
            return error.exit_code
        case OSError(filename=str() as name, strerror=str() as why):
            _say(f"{why}: {name}")
            return CANNOT_READ
        case _UsageError():
            _say(_usage(error))
            return USAGE
    raise error


def _usage(error: Exception) -> str:
    complaint = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    ctx = getattr(error, "ctx", None)
    return f"{complaint}." if ctx is None else f"{complaint}. Try `{ctx.command_path} --help`."


def _say(sentence: str, before: str = "") -> None:
    sys.stderr.write(harmless(f"{before}kairos: {sentence}\n", lines=True))
