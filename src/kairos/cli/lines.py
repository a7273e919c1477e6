"""`kairos jobs logs`: what the steps of a job said, and with -f what they say until it ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from kairos import documents
from kairos.app import SyncKairos
from kairos.cli import tables
from kairos.cli.place import on_database
from kairos.store.rows import LogRow

_PAGE = 1000
_INTERVAL = 0.1  # between two looks at a job that runs
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
    """Show what the steps of a job said."""
    if as_json and not follow:
        rows = [documents.log_line(row) for row in _all(kairos, job_id, after)]
        tables.document({"logs": rows})
        return
    while True:
        # Looked at before its lines are: once it has ended, there are no more to come.
        ended = not follow or kairos.get(job_id).is_terminal
        for row in _all(kairos, job_id, after):
            after = row.cursor
            sys.stdout.write((documents.encode(documents.log_line(row)) if as_json else _shown(row)) + "\n")
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
    """One line for people; what goes on over several is indented, and so cannot be taken for another."""
    fields = dict(row.fields or {})
    stack = fields.pop("stack", None)
    named = "".join(f"  {name}={tables.code(value)}" for name, value in fields.items())
    text = f"{tables.clock(row.at)} {row.stream or row.level:<8} {row.line}{named}"
    if stack is not None:
        text += f"\n{stack}"
    return tables.harmless(text, lines=True).replace("\n", f"\n{_INDENT}")
