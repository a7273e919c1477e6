"""The command line, and nothing but: parse, then a verb or a read, then print."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from kairos.cli.failing import report
from kairos.cli.root import app
from kairos.errors import BadRequest

__all__ = ["main", "run"]


def main() -> None:
    """The `kairos` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers its exit code."""
    try:
        for argument in arguments:
            _refuse_broken_text(argument)
        code = typer.main.get_command(app).main(
            list(arguments) or ["--help"], "kairos", standalone_mode=False
        )
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not fail over it once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except typer.Abort:
        return 130
    except Exception as error:  # noqa: BLE001 (raised again if nobody expected it)
        return report(error)
    return code or 0


def _refuse_broken_text(argument: str) -> None:
    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(f"{argument!r} is not text: an argument must be valid UTF-8.") from error
