"""The command line: each command parses its arguments, runs an operation and prints the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from kairos.cli.errors import report
from kairos.cli.root import for_arguments
from kairos.errors import BadRequest

__all__ = ["main", "run"]


def main() -> None:
    """The `kairos` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code."""
    try:
        for argument in arguments:
            _refuse_broken_text(argument)
        given = list(arguments) or ["--help"]
        code = typer.main.get_command(for_arguments(given)).main(given, "kairos", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe: discard the rest, so that Python does not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except typer.Abort:
        return 130
    except Exception as error:  # noqa: BLE001 (`report` raises an unexpected error again)
        return report(error)
    return code or 0


def _refuse_broken_text(argument: str) -> None:
    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(f"{argument!r} is not text: an argument must be valid UTF-8.") from error
