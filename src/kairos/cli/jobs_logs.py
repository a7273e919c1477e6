"""`kairos jobs logs`: print a job's log lines, and with -f follow them until the job ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from kairos import serializers, shapes
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.database_option import on_database
from kairos.shapes.log_line import LogRow

_PAGE = 1000
_INTERVAL = 0.1  # seconds between two polls of a running job
_INDENT = " " * 4


@on_database
def logs(
    kairos: SyncKairos,
    job_id: Annotated[int, typer.Argument(metavar="ID", show_default=False, help="The job's number.")],
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Go on until the job ends; any end but success is an error."),
    ] = False,
    after: Annotated[int, typer.Option(metavar="CURSOR", help="Only lines after this one.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, for programs; with -f one for each line.")
    ] = False,
) -> None:
    """Show the log lines of a job."""
    if as_json and not follow:
        rows = [shapes.document(row) for row in _all(kairos, job_id, after)]
        output.document({"logs": rows})
        return
    while True:
        # Read the state before the lines: once a job has ended, no more lines follow.
        ended = not follow or kairos.get(job_id).is_terminal
        for row in _all(kairos, job_id, after):
            after = row.cursor
            sys.stdout.write((serializers.encode(shapes.document(row)) if as_json else _shown(row)) + "\n")
        sys.stdout.flush()
        if ended:
            break
        time.sleep(_INTERVAL)
    if follow:
        kairos.result(job_id)


def _all(kairos: SyncKairos, job_id: int, after: int) -> Iterator[LogRow]:
    while page := kairos.logs(job_id, after=after, limit=_PAGE):
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].cursor


def _shown(row: LogRow) -> str:
    """Format one log line; continuation lines are indented, so that they cannot pass for lines of their own."""
    fields = dict(row.fields or {})
    stack = fields.pop("stack", None)
    named = "".join(f"  {name}={output.code(value)}" for name, value in fields.items())
    text = f"{output.clock(row.at)} {row.stream or row.level:<8} {row.line}{named}"
    if stack is not None:
        text += f"\n{stack}"
    return output.escape_control(text, lines=True).replace("\n", f"\n{_INDENT}")
