"""Progress of a run on stderr: one line that is rewritten on a terminal, a line for each part elsewhere."""

from __future__ import annotations

import sys
import time

_began = time.monotonic()
_part = ""


def part(name: str) -> None:
    """Show that a part of the run, or its preparation, begins."""
    global _part
    _part = name
    _show(name, keep=True)


def measuring(name: str, turn: int, turns: int) -> None:
    """Show what is measured now."""
    if sys.stderr.isatty():
        _show(f"{_part}: {name}, round {turn} of {turns}", keep=False)


def _show(text: str, *, keep: bool) -> None:
    minutes, seconds = divmod(int(time.monotonic() - _began), 60)
    line = f"bench {minutes}:{seconds:02d}  {text} …"
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="\n" if keep else "", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)
