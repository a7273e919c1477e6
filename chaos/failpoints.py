"""Failpoints inside transactions: the first worker that reaches an armed one stops itself with SIGSTOP.

A failpoint is armed by a file of its name, which the worker removes.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from chaos.journal import Journal
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query

# The faults that freeze a worker, one for each kind of transaction that it opens, and their failpoints.
TRANSACTIONS = {
    "freeze in a keyed pick": "after try_lock_keys",
    "freeze in a limited pick": "after lock_queue",
    "freeze in a commit": "after park_jobs",
    "freeze while keys are opened": "after wait_for_key_locks",
    "freeze in a reap": "after reap_jobs",
    "freeze while ticks fire": "after fire_ticks",
    "freeze in a step's transaction": "inside ctx.transaction",
}


class Failpoints:
    """The failpoints of a worker: `hit(name)` stops the process if the nemesis armed that name."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._folder = folder / "armed"
        self._journal = journal

    def hit(self, name: str) -> None:
        armed = self._folder / name
        if not armed.exists():
            return
        try:
            armed.unlink()
        except FileNotFoundError:
            return  # another worker has taken it
        self._journal.write("frozen", at=name)
        os.kill(os.getpid(), signal.SIGSTOP)

    def install(self) -> None:
        """Add a failpoint after each statement of Kairos, inside its transaction if there is one."""
        on = AsyncStore.on

        async def ran(store: AsyncStore, connection: Any, query: Query) -> Any:
            rows = await on(store, connection, query)
            self.hit(f"after {query.name}")
            return rows

        AsyncStore.on = ran  # type: ignore[method-assign]


def arm(folder: Path, name: str) -> None:
    (folder / "armed").mkdir(exist_ok=True)
    (folder / "armed" / name).touch()


def disarm(folder: Path, name: str) -> None:
    (folder / "armed" / name).unlink(missing_ok=True)
