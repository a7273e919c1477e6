"""The faults, aimed: a worker is hit while it is inside a step, where it hurts. Random ones miss real bugs."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg

from chaos.journal import Journal
from chaos.processes import Forked

_IN_A_STEP = 0.04  # seconds after which a step that has begun is surely inside

# How often each is chosen.
FAULTS = {"kill": 4.0, "freeze": 5.0, "cut": 2.0, "unkeep": 1.0, "crash": 0.5}

_BACKENDS = """
select pid from pg_stat_activity
where datname = current_database() and application_name like 'kairos%' and pid <> all ($1::int[])
order by random() limit $2
"""


@dataclass(frozen=True)
class OpenStep:
    worker: Forked
    job: int
    lease: int


class Nemesis:
    """Keeps `workers` full and breaks them one after the other; counts what it did."""

    def __init__(
        self,
        url: str,
        journal: Journal,
        dice: random.Random,
        lease: float,
        hire: Callable[[], Forked],
        crash: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._url = url
        self._journal = journal
        self._dice = dice
        self._lease = lease
        self._hire = hire
        self._crash_postgres = crash
        self.workers: list[Forked] = []
        self.did: Counter[str] = Counter()

    async def run(self, faults: Mapping[str, float]) -> None:
        while True:
            await asyncio.sleep(self._dice.uniform(0.05, 0.3))
            self.replace_the_dead()
            (name,) = self._dice.choices(list(faults), list(faults.values()))
            if await getattr(self, f"_{name}")():
                self.did[name] += 1
                self._journal.tell("nemesis", did=name)

    def replace_the_dead(self) -> None:
        for place, worker in enumerate(self.workers):
            if worker.code is not None:
                self.did[f"worker ended with {worker.code}"] += 1
                self.workers[place] = self._hire()

    async def _kill(self) -> bool:
        steps = await self._open_steps()
        for step in steps[:1]:
            step.worker.kill()
        return bool(steps)

    async def _freeze(self) -> bool:
        """Until another worker is inside the same step, mostly: a zombie must wake up to find its place taken."""
        steps = await self._open_steps()
        victims = {step.worker.pid: step for step in steps[: len(self.workers) - 1]}
        for step in victims.values():
            step.worker.signal(signal.SIGSTOP)
        if victims and self._dice.random() < 0.7:
            await self._taken_over(list(victims.values()))
        elif victims:
            await asyncio.sleep(self._lease * self._dice.uniform(0.5, 2.5))
        for step in victims.values():
            step.worker.signal(signal.SIGCONT)
        return bool(victims)

    async def _taken_over(self, steps: list[OpenStep]) -> None:
        deadline = time.monotonic() + 3 * self._lease
        jobs = {step.job: step.lease for step in steps}
        while time.monotonic() < deadline:
            for event in self._journal.events("begin"):
                if event["lease"] > jobs.get(event["job"], event["lease"]):
                    return
            await asyncio.sleep(0.02)

    async def _cut(self) -> bool:
        connection = await asyncpg.connect(self._url, server_settings={"application_name": "nemesis"})
        try:
            own = [connection.get_server_pid()]
            for row in await connection.fetch(_BACKENDS, own, self._dice.choice([1, 3, 100])):
                await connection.fetchval("select pg_terminate_backend($1)", row["pid"])
        finally:
            await connection.close()
        return True

    async def _unkeep(self) -> bool:
        """Without its keeper a worker must find itself another one before its leases run out."""
        keepers = [keeper for worker in self.workers for keeper in worker.keepers()]
        if not keepers:
            return False
        os.kill(self._dice.choice(keepers), signal.SIGKILL)
        return True

    async def _crash(self) -> bool:
        """Postgres itself, with everything that is under way; it comes back at once."""
        if self._crash_postgres is None or not await self._open_steps():
            return False
        await self._crash_postgres()
        return True

    async def _open_steps(self) -> list[OpenStep]:
        """Steps that have been open for a while, in any order, one for each job; none if none can be found soon."""
        for _ in range(20):
            now = time.monotonic()
            begun: dict[Any, dict[str, Any]] = {}
            for event in self._journal.read():
                if event["e"] == "begin":
                    begun[event["pid"], event["job"], event["lease"]] = event
                elif event["e"] == "end":
                    begun.pop((event["pid"], event["job"], event["lease"]), None)
            workers = {worker.pid: worker for worker in self.workers if worker.code is None}
            steps = [
                OpenStep(workers[event["pid"]], event["job"], event["lease"])
                for event in begun.values()
                if event["pid"] in workers and _IN_A_STEP < now - event["t"] < 0.5
            ]
            if steps:
                return self._dice.sample(steps, len(steps))
            await asyncio.sleep(0.02)
        return []
