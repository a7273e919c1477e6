"""Places inside a transaction where a worker freezes itself if it finds a file of that name: the first one, once."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from chaos.journal import Journal
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query

# Each kind of transaction that a worker of Kairos opens, and a statement inside it.
TRANSACTIONS = {
    "freeze in a keyed pick": "after try_lock_keys",
    "freeze in a limited pick": "after lock_queue",
    "freeze in a commit": "after park_jobs",
    "freeze in a step's transaction": "inside ctx.transaction",
}


class Failpoints:
    """The worker's side: `hit(name)` freezes the process where the nemesis armed that name."""

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
            return  # another worker was quicker
        self._journal.tell("frozen", at=name)
        os.kill(os.getpid(), signal.SIGSTOP)

    def install(self) -> None:
        """After each of Kairos's own statements: inside its transaction, if it is in one."""
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
