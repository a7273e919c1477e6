"""Report a failed command: one sentence on standard error, and a meaningful exit code."""

from __future__ import annotations

import re
import sys

import typer

from kairos.cli.app_loader import BadApp
from kairos.cli.output import escape_control
from kairos.errors import BadRequest, KairosError
from kairos.other_libraries import COMMAND_LINE
from kairos.schedule import IntentError

USAGE = BadRequest.exit_code
CANNOT_READ = 74  # EX_IOERR: a file or a folder, not the database

# The base class of all usage errors, which typer does not export.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

# Typer's complaints about a value that is no number, and the words that replace them.
_NUMBERS = {
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}
# Typer's complaint about an option or a command that does not exist.
_UNKNOWN = re.compile(r"No such (?:option:|command) '?(?P<name>[\w-]+)'?\.?")


def report(error: Exception) -> int:
    """Print the error and return its exit code; re-raise unexpected errors, so that Python prints the traceback."""
    match error:
        case BadApp():
            _print(error.message, error.trace)
            return error.exit_code
        case IntentError():
            _print(str(error))
            return error.exit_code
        case KairosError():
            _print(error.message)
            return error.exit_code
        case OSError(filename=str() as name, strerror=str() as why):
            _print(f"{why}: {name}")
            return CANNOT_READ
        case _UsageError():
            _print(_usage(error))
            return USAGE
    raise error


def _usage(error: Exception) -> str:
    complaint = error.format_message().replace("Value error, ", "")  # type: ignore[attr-defined]
    for said, plain in _NUMBERS.items():
        complaint = complaint.replace(said, plain)
    if (unknown := _UNKNOWN.match(complaint)) and unknown["name"] in COMMAND_LINE:
        complaint = f"{unknown[0].rstrip('.')}: {COMMAND_LINE[unknown['name']]}."
    if not complaint.endswith((".", "?")):
        complaint += "."
    ctx = getattr(error, "ctx", None)
    if complaint == "Missing command." and ctx is not None:
        complaint = f"{ctx.command_path} needs a command: {', '.join(ctx.command.list_commands(ctx))}."
    return complaint if ctx is None else f"{complaint} Try `{ctx.command_path} --help`."


def _print(sentence: str, before: str = "") -> None:
    sys.stderr.write(escape_control(f"{before}kairos: {sentence}\n", lines=True))
