"""Show the progress of a run: a live table in a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from chaos.harness import Run

_LINE_EVERY = 10.0  # seconds


class Display:
    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=4) if sys.stderr.isatty() else None
        self._printed_at = 0.0

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, run: Run) -> None:
        elapsed = time.monotonic() - run.began
        if self._live is not None:
            self._live.update(_table(run, elapsed))
        elif time.monotonic() - self._printed_at > _LINE_EVERY:
            self._printed_at = time.monotonic()
            faults = sum(run.nemesis.counts[name] for name in run.chosen)
            self._console.print(
                f"chaos: {elapsed:.0f} of {run.plan.seconds:.0f} s, {faults} faults, "
                f"{run.clients.counts['ack']} jobs acknowledged, now {run.nemesis.now}"
            )


def _table(run: Run, elapsed: float) -> Table:
    title = (
        f"seed {run.plan.seed} · {elapsed:.0f} of {run.plan.seconds:.0f} s · {run.stage} · {run.nemesis.now}"
    )
    table = Table("fault", "times", title=title, caption=f"{run.clients.counts['ack']} jobs acknowledged")
    for name in run.chosen:
        table.add_row(name, str(run.nemesis.counts[name]))
    return table
