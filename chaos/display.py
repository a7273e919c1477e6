"""The run while it runs: a table that is drawn again and again, or a line now and then where there is no terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from chaos.harness import Run

_QUIET = 10.0  # seconds between two lines


class Display:
    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=4) if sys.stderr.isatty() else None
        self._spoke = 0.0

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, run: Run) -> None:
        past = time.monotonic() - run.began
        if self._live is not None:
            self._live.update(_table(run, past))
        elif time.monotonic() - self._spoke > _QUIET:
            self._spoke = time.monotonic()
            did = sum(run.nemesis.did[name] for name in run.chosen)
            self._console.print(
                f"chaos: {past:.0f} of {run.plan.seconds:.0f} s, {did} faults, "
                f"{run.clients.did['ack']} jobs acknowledged, now {run.nemesis.now}"
            )


def _table(run: Run, past: float) -> Table:
    title = f"seed {run.plan.seed} · {past:.0f} of {run.plan.seconds:.0f} s · {run.stage} · {run.nemesis.now}"
    table = Table("fault", "times", title=title, caption=f"{run.clients.did['ack']} jobs acknowledged")
    for name in run.chosen:
        table.add_row(name, str(run.nemesis.did[name]))
    return table
