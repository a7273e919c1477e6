"""Print tables and sentences. Values that come from jobs are always escaped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from kairos import serializers
from kairos.fsm.lifecycle import JobState
from kairos.fsm.state_styles import STATE_STYLES

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
# A pipe has no width: use one at which nothing is cut.
_PIPE_WIDTH = 240
_GAP = 2  # between two columns


def console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def document(content: dict[str, Any]) -> None:
    """Print one JSON document, and nothing else, on standard output."""
    sys.stdout.write(serializers.encode(content, indent=2) + "\n")


def result(as_json: bool, content: dict[str, Any], *sentence: Any) -> None:
    """Print what a command did, as a document or as a sentence."""
    if as_json:
        document(content)
    else:
        say(*sentence)


def listing(
    as_json: bool,
    documents: tuple[str, Iterable[Any]],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    empty: str,
) -> None:
    """Print a list as a document, whose member and items are `documents`, or as a table; `empty` if it has no rows."""
    if as_json:
        name, items = documents
        document({name: list(items)})
    elif body := list(rows):
        show(columns, body)
    else:
        say(empty)


def show(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, wrap: bool = False) -> None:
    """Print a table; print nothing if it has no rows."""
    if body := [[_cell(value) for value in row] for row in rows]:
        console().print(table(columns, body, wrap=wrap))


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, wrap: bool = False) -> Table:
    """Build a table without its empty columns; long values are wrapped, or cut in the last column."""
    body = [[_cell(value) for value in row] for row in rows]
    used = [place for place in range(len(columns)) if any(row[place].plain for row in body)]
    made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for place in used:
        numeric = all(row[place].plain.lstrip("-").isdigit() for row in body)
        justify: JustifyMethod = "right" if numeric else "left"
        made.add_column(columns[place], justify=justify, no_wrap=place != used[-1], overflow="fold")
    if not wrap:
        taken = sum(
            _GAP + max(cell_len(columns[place]), *(row[place].cell_len for row in body))
            for place in used[:-1]
        )
        for row in body:
            row[used[-1]].truncate(max(console().width - taken, 10), overflow="ellipsis")
    for row in body:
        made.add_row(*(row[place] for place in used))
    return made


def facts(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one pair a line, without missing values."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="bright_black", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        if value is not None and value != "" and value != ():
            made.add_row(name, _cell(value, lines=True))
    console().print(made)


def say(*parts: Any) -> None:
    """Print one sentence."""
    line = Text()
    for part in parts:
        line.append_text(_cell(part, lines=True))
    console().print(line, soft_wrap=True)


def state(value: str) -> Text:
    style = STATE_STYLES[JobState(value)]
    return Text(f"{style.symbol} {value}", style=style.colour)


def code(value: Any) -> str:
    """A JSON value on one line."""
    return json.dumps(value, ensure_ascii=False)


def ago(at: datetime | None) -> str:
    """Format an instant relative to now: "3m ago", "in 2h"."""
    if at is None:
        return ""
    away = at - datetime.now(UTC)
    if abs(away) < timedelta(seconds=1):
        return "now"
    return f"in {span(away)}" if away > timedelta(0) else f"{span(-away)} ago"


def instant(at: datetime | None) -> str | None:
    """Format an instant with its distance from now."""
    return None if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z ({ago(at)})"


def clock(at: datetime | None) -> str:
    """Format the time of day of an instant with milliseconds."""
    return "" if at is None else f"{at.astimezone(UTC):%H:%M:%S.%f}"[:-3]


def span(length: timedelta | None) -> str:
    """Format a duration in its two largest units."""
    if length is None:
        return ""
    if timedelta(0) < length < timedelta(seconds=1):
        return f"{length / timedelta(milliseconds=1):.3g}ms"
    left, parts = int(length.total_seconds()), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def escape_control(text: str, *, lines: bool = False) -> str:
    """Escape characters that would move the terminal's cursor or are invisible."""
    return "".join(
        letter if letter.isprintable() or (lines and letter == "\n") else ascii(letter)[1:-1]
        for letter in text
    )


def _cell(value: Any, *, lines: bool = False) -> Text:
    if isinstance(value, Text):
        return value
    return Text("" if value is None else escape_control(str(value), lines=lines))
