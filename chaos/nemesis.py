"""The faults, aimed: a worker is hit while it is inside a step or a transaction, where it hurts.

Random faults miss real bugs. Each fault answers whether it happened; what was done is counted, and a run that did too
little of something proves nothing.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos import program
from chaos.failpoints import TRANSACTIONS, arm, disarm
from chaos.journal import Journal
from chaos.processes import Forked

# How many steps must end before the next fault of a worker, and of all else; and how many seconds they are given.
_FEW, _SOME, _RECOVERY = 8, 20, 15.0
# Seconds after which a step that has begun is surely inside, and after which it may have failed without a word.
_IN_A_STEP, _FORGOTTEN = 0.04, 3.0

_LEAVES_WITHIN = 30.0  # seconds after SIGTERM

Fault = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class OpenStep:
    worker: Forked
    job: int
    lease: int


class Nemesis:
    """Keeps `workers` full and breaks them, and what they stand on, one after the other."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        dice: random.Random,
        lease: float,
        hire: Callable[[int], Forked],
        others: Mapping[str, Fault],
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._eyes = Journal(folder / "journal")
        self._dice = dice
        self._lease = lease
        self._hire = hire
        self._begun: dict[Any, dict[str, Any]] = {}
        self._frozen: dict[int, str] = {}
        self._dead: set[int] = set()
        self._newest: dict[int, int] = {}  # the last lease under which each job was begun
        self._ended = 0
        self.slowest: Counter[str] = Counter()  # milliseconds until work went on after each fault
        self.workers: list[Forked] = []
        self._release: dict[int, int] = {}  # of each worker, by its process
        self.did: Counter[str] = Counter()
        self.now = "hiring"
        self.over = False  # after the faults that are under way there are no others
        self.releases = [program.OLD, program.NEW, program.NEW]
        self.of_workers: dict[str, Fault] = {
            "kill": self._kill,
            "lost machine": self._lose_machine,
            "freeze": self._freeze,
            "unkeep": self._unkeep,
            "deploy": self._deploy,
            **{name: self._freezer(place) for name, place in TRANSACTIONS.items()},
        }
        self.faults: dict[str, Fault] = {**self.of_workers, **others}

    async def run(self, weights: Mapping[str, float], wanted: Mapping[str, int]) -> None:
        """One fault after the other until `over`; every other time, one that there was too little of."""
        while weights and not self.over:
            await asyncio.sleep(self._dice.uniform(0.05, 0.3))
            lacking = [name for name in weights if self.did[name] < wanted.get(name, 0)]
            names = lacking if lacking and self._dice.random() < 0.5 else list(weights)
            (name,) = self._dice.choices(names, [weights[each] for each in names])
            self.now = name
            if await self.faults[name]():
                self.did[name] += 1
                forgets = name in ("crash", "failover", "hung primary", "disk")
                self._journal.tell("nemesis", did=name, forgets=forgets)
                await self._goes_on(name)

    async def tend(self) -> None:
        """Replace whoever died, as whatever manages the processes does."""
        while True:
            self.replace_the_dead()
            await asyncio.sleep(0.1)

    def replace_the_dead(self) -> None:
        for place, worker in enumerate(self.workers):
            if worker.code is not None:
                self.did[f"worker ended with {worker.code}"] += 1
                self._look()
                if worker.pid not in self._dead:
                    self._journal.tell("dies", pid=worker.pid, wall=0.0)  # by itself, nobody knows when
                self.hire(place, self._dice.choice(self.releases))

    def hire(self, place: int, release: int) -> None:
        """Put a new worker into a place: the one that had it has left or is dead."""
        worker = self._hire(release)
        self._release[worker.pid] = release
        self.workers[place : place + 1] = [worker]

    async def finish_deploy(self) -> None:
        """Replace the workers of the old release: they know nothing of what only the new one can run."""
        self.releases = [program.NEW]
        old = [worker for worker in self.workers if self._release[worker.pid] == program.OLD]
        for worker in old:
            worker.signal(signal.SIGTERM)
        deadline = time.monotonic() + _LEAVES_WITHIN
        while any(worker.code is None for worker in old) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        for worker in old:
            if worker.code is None:
                self.did["worker did not leave"] += 1
                worker.kill()
        self.replace_the_dead()

    def wake_all(self) -> None:
        for worker in self.workers:
            if worker.code is None:
                worker.signal(signal.SIGCONT)

    async def _kill(self) -> bool:
        steps = await self._open_steps()
        for step in steps[:1]:
            self._journal.tell("dies", pid=step.worker.pid, keeper=True)
            step.worker.kill()
        return bool(steps)

    async def _lose_machine(self) -> bool:
        """The worker and its keeper end at once: nobody hands its jobs back, and their leases run out."""
        steps = await self._open_steps()
        for step in steps[:1]:
            worker = step.worker
            self._journal.tell("dies", pid=worker.pid, keeper=False)
            worker.signal(signal.SIGSTOP)  # or it would start another keeper
            for keeper in worker.keepers():
                with suppress(ProcessLookupError):
                    os.kill(keeper, signal.SIGKILL)
            worker.kill()
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
            self._look()
            if any(self._newest[job] > lease for job, lease in jobs.items()):
                return
            await asyncio.sleep(0.02)

    def _freezer(self, place: str) -> Fault:
        """A worker that stops itself inside a transaction of its own, for longer than a lease."""

        async def freeze() -> bool:
            arm(self._folder, place)
            victim = await self._first_frozen(place, within=3 * self._lease)
            if victim is None:
                disarm(self._folder, place)
                victim = await self._first_frozen(place, within=0.2)
            if victim is None:
                return False
            await asyncio.sleep(self._lease * self._dice.uniform(1.1, 2.5))
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGCONT)
            return True

        return freeze

    async def _first_frozen(self, place: str, within: float) -> int | None:
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            self._look()
            for pid, at in list(self._frozen.items()):
                if at == place:
                    del self._frozen[pid]
                    return pid
            await asyncio.sleep(0.02)
        return None

    async def _unkeep(self) -> bool:
        """Without its keeper a worker must find itself another one before its leases run out."""
        keepers = [keeper for worker in self.workers for keeper in worker.keepers()]
        if not keepers:
            return False
        with suppress(ProcessLookupError):
            os.kill(self._dice.choice(keepers), signal.SIGKILL)
        return True

    async def _deploy(self) -> bool:
        """A worker of one release leaves in good order, and one of the other takes its place."""
        place = self._dice.randrange(len(self.workers))
        leaver = self.workers[place]
        leaver.signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while leaver.code is None and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        if leaver.code is None:
            return False
        self.did[f"release {1 + self.did['deploy'] % 2} came"] += 1
        self.hire(place, 1 + self.did["deploy"] % 2)
        return True

    async def _goes_on(self, fault: str) -> None:
        """Let the work go on before the next fault, for a while: an engine that never runs breaks no promise."""
        began = time.monotonic()
        self._look()
        before = self._ended
        while (
            self._ended < before + (_FEW if fault in self.of_workers else _SOME)
            and time.monotonic() < began + _RECOVERY
            and not self.over
        ):
            await asyncio.sleep(0.05)
            self._look()
        self.slowest[fault] = max(self.slowest[fault], int(1000 * (time.monotonic() - began)))

    def _look(self) -> None:
        """Read what is new in the journal, once."""
        for event in self._eyes.news():
            key = (event["pid"], event.get("job"), event.get("lease"))
            if event["e"] == "begin":
                self._begun[key] = event
                self._newest[event["job"]] = max(event["lease"], self._newest.get(event["job"], 0))
            elif event["e"] == "end":
                self._begun.pop(key, None)
                self._ended += 1
            elif event["e"] == "dies":
                self._dead.add(event["pid"])
            elif event["e"] == "frozen":
                self._frozen[event["pid"]] = event["at"]

    async def _open_steps(self) -> list[OpenStep]:
        """Steps that have been open for a while, in any order; none if none can be found soon."""
        for _ in range(20):
            self._look()
            now = time.monotonic()
            self._begun = {
                key: event
                for key, event in self._begun.items()
                if now - event["t"] < _FORGOTTEN and self._newest[event["job"]] == event["lease"]
            }
            workers = {worker.pid: worker for worker in self.workers if worker.code is None}
            steps = [
                OpenStep(workers[event["pid"]], event["job"], event["lease"])
                for event in self._begun.values()
                if event["pid"] in workers and now - event["t"] > _IN_A_STEP
            ]
            if steps:
                return self._dice.sample(steps, len(steps))
            await asyncio.sleep(0.02)
        return []
