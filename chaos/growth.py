"""Sample what must not grow under load: memory, open files, connections and the size of every table."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

import asyncpg

from chaos.network import CONNECTION_LOST

_PAGE = 4096
# How far samples may rise: garbage collection and vacuum happen only now and then.
_TOLERANCE = 1.5
_SLACK = {"memory": 40 << 20, "files": 20, "connections": 10, "table": 16 << 20}
_TABLES = """
select c.relname as name, pg_total_relation_size(c.oid) as bytes
from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'kairos' and c.relkind = 'r'
"""
_CONNECTIONS = "select count(*) from pg_stat_activity where application_name like 'kairos%'"


class Growth:
    """The samples of a run, by what was sampled."""

    def __init__(self, url: Callable[[], str], processes: Callable[[], dict[str, list[int]]]) -> None:
        self._url = url
        self._processes = processes
        self.samples: dict[tuple[str, str], list[int]] = defaultdict(list)

    async def run(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            self._sample_processes()
            with suppress(*CONNECTION_LOST):
                async with asyncio.timeout(20):
                    await self._sample_database()

    def _sample_processes(self) -> None:
        """Sample the largest process of each kind: one that was just started says nothing about growth."""
        for kind, pids in self._processes().items():
            if memory := [size for pid in pids if (size := _memory(pid))]:
                self.samples["memory", kind].append(max(memory))
            if files := [count for pid in pids if (count := _files(pid))]:
                self.samples["files", kind].append(max(files))

    async def _sample_database(self) -> None:
        connection = await asyncpg.connect(self._url(), timeout=5)
        try:
            for row in await connection.fetch(_TABLES):
                self.samples["table", row["name"]].append(row["bytes"])
            self.samples["connections", "all"].append(await connection.fetchval(_CONNECTIONS))
        finally:
            connection.terminate()

    def violations(self) -> Iterator[str]:
        """Return what was higher in the last third of the run than in the one before, beyond the tolerance."""
        for (what, of), values in sorted(self.samples.items()):
            third = len(values) // 3
            if third < 3:
                yield f"nothing_grows: too few samples of the {what} of {of}: {len(values)}"
                continue
            before, after = median(values[third : 2 * third]), median(values[2 * third :])
            if after > before * _TOLERANCE + _SLACK[what]:
                yield f"nothing_grows: the {what} of {of} went from {before:.0f} to {after:.0f}"

    def figures(self) -> dict[str, int]:
        """Return the last sample of each, for the report."""
        return {f"{what} of {of} at the end": values[-1] for (what, of), values in self.samples.items()}


def _memory(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return 0


def _files(pid: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return 0
