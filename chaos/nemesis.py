"""The nemesis injects faults; workers are hit while they are inside a step or a transaction.

Faults at random moments miss bugs. Each fault returns whether it happened; those that did are counted, since a run with
too few of them proves nothing.
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

# How many steps must end after a fault of a worker, and after another fault, before the next fault; and for how many
# seconds the nemesis waits for them.
_AFTER_WORKER, _AFTER_OTHER, _RECOVERY = 8, 20, 15.0
# Seconds after its begin in which a step counts as running: before, its lane may not be inside it; after, it may have
# failed without an event.
_RUNNING_AFTER, _RUNNING_UNTIL = 0.04, 3.0

_STOPS_WITHIN = 30.0  # seconds after SIGTERM

Fault = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class RunningStep:
    worker: Forked
    job: int
    lease: int


class Nemesis:
    """Starts and replaces the workers, and injects faults into them and what they depend on, one after the other.

    `start_worker(release)` starts a process; `others` are the faults that do not concern workers.
    """

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        dice: random.Random,
        lease: float,
        start_worker: Callable[[int], Forked],
        others: Mapping[str, Fault],
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._reader = Journal(folder / "journal")
        self._dice = dice
        self._lease = lease
        self._start_worker = start_worker
        self._begun: dict[Any, dict[str, Any]] = {}
        self._frozen: dict[int, str] = {}
        self._dead: set[int] = set()
        self._newest: dict[int, int] = {}  # the newest lease that began a step, by job
        self._ended = 0
        self.slowest: Counter[str] = Counter()  # the longest recovery after each fault, in milliseconds
        self.workers: list[Forked] = []
        self._release: dict[int, int] = {}  # of each worker, by its process
        self.counts: Counter[str] = Counter()
        self.now = "starting"
        self.stopped = False  # no new fault begins
        self.releases = [program.OLD, program.NEW, program.NEW]
        self.worker_faults: dict[str, Fault] = {
            "kill": self._kill,
            "lost machine": self._lose_machine,
            "freeze": self._freeze,
            "kill keeper": self._kill_keeper,
            "deploy": self._deploy,
            **{name: self._freezer(failpoint) for name, failpoint in TRANSACTIONS.items()},
        }
        self.faults: dict[str, Fault] = {**self.worker_faults, **others}

    async def run(self, weights: Mapping[str, float], wanted: Mapping[str, int]) -> None:
        """Inject one fault after the other until `stopped`; half of the time one that has happened too rarely."""
        while weights and not self.stopped:
            await asyncio.sleep(self._dice.uniform(0.05, 0.3))
            too_rare = [name for name in weights if self.counts[name] < wanted.get(name, 0)]
            names = too_rare if too_rare and self._dice.random() < 0.5 else list(weights)
            (name,) = self._dice.choices(names, [weights[each] for each in names])
            self._wake_late()
            self.now = name
            if await self.faults[name]():
                self.counts[name] += 1
                forgets = name in ("crash", "failover", "hung primary", "disk")
                self._journal.write("nemesis", fault=name, forgets=forgets)
                await self._wait_for_progress(name)

    async def replace_dead_workers(self) -> None:
        """Replace workers that died, as a process manager does, until cancelled."""
        while True:
            self.replace_dead()
            await asyncio.sleep(0.1)

    def replace_dead(self) -> None:
        for slot, worker in enumerate(self.workers):
            if worker.code is not None:
                self.counts[f"worker ended with {worker.code}"] += 1
                self._read_journal()
                if worker.pid not in self._dead:
                    self._journal.write("dies", pid=worker.pid, wall=0.0)  # by itself, at an unknown time
                self.put_worker(slot, self._dice.choice(self.releases))

    def put_worker(self, slot: int, release: int) -> None:
        """Start a worker and put it into a slot of `workers` whose worker has ended."""
        worker = self._start_worker(release)
        self._release[worker.pid] = release
        self.workers[slot : slot + 1] = [worker]

    async def finish_deploy(self) -> None:
        """Replace the workers of the old release, which do not know every action version."""
        self.releases = [program.NEW]
        old = [worker for worker in self.workers if self._release[worker.pid] == program.OLD]
        for worker in old:
            worker.signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOPS_WITHIN
        while any(worker.code is None for worker in old) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        for worker in old:
            if worker.code is None:
                self.counts["worker did not stop"] += 1
                worker.kill()
        self.replace_dead()

    def _wake_late(self) -> None:
        """Wake workers that reached a failpoint after the fault that armed it had ended: no other fault would."""
        self._read_journal()
        for pid in self._frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._frozen.clear()

    def wake_all(self) -> None:
        for worker in self.workers:
            if worker.code is None:
                worker.signal(signal.SIGCONT)

    async def _kill(self) -> bool:
        steps = await self._running_steps()
        for step in steps[:1]:
            self._journal.write("dies", pid=step.worker.pid, keeper=True)
            step.worker.kill()
        return bool(steps)

    async def _lose_machine(self) -> bool:
        """Kill the worker and its keeper: its jobs are not handed back, and their leases expire."""
        steps = await self._running_steps()
        for step in steps[:1]:
            worker = step.worker
            self._journal.write("dies", pid=worker.pid, keeper=False)
            worker.signal(signal.SIGSTOP)  # so that it does not start another keeper
            for keeper in worker.keepers():
                with suppress(ProcessLookupError):
                    os.kill(keeper, signal.SIGKILL)
            worker.kill()
        return bool(steps)

    async def _freeze(self) -> bool:
        """Freeze workers, mostly until another worker runs the same step, so that a zombie commits after it."""
        steps = await self._running_steps()
        victims = {step.worker.pid: step for step in steps[: len(self.workers) - 1]}
        for step in victims.values():
            step.worker.signal(signal.SIGSTOP)
        if victims and self._dice.random() < 0.7:
            await self._wait_for_takeover(list(victims.values()))
        elif victims:
            await asyncio.sleep(self._lease * self._dice.uniform(0.5, 2.5))
        for step in victims.values():
            step.worker.signal(signal.SIGCONT)
        return bool(victims)

    async def _wait_for_takeover(self, steps: list[RunningStep]) -> None:
        deadline = time.monotonic() + 3 * self._lease
        jobs = {step.job: step.lease for step in steps}
        while time.monotonic() < deadline:
            self._read_journal()
            if any(self._newest[job] > lease for job, lease in jobs.items()):
                return
            await asyncio.sleep(0.02)

    def _freezer(self, failpoint: str) -> Fault:
        """Return the fault of a worker that stops inside a transaction for longer than a lease."""

        async def freeze() -> bool:
            arm(self._folder, failpoint)
            victim = await self._first_frozen(failpoint, within=3 * self._lease)
            if victim is None:
                disarm(self._folder, failpoint)
                victim = await self._first_frozen(failpoint, within=0.2)
            if victim is None:
                return False
            await asyncio.sleep(self._lease * self._dice.uniform(1.1, 2.5))
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGCONT)
            return True

        return freeze

    async def _first_frozen(self, failpoint: str, within: float) -> int | None:
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            self._read_journal()
            for pid, at in list(self._frozen.items()):
                if at == failpoint:
                    del self._frozen[pid]
                    return pid
            await asyncio.sleep(0.02)
        return None

    async def _kill_keeper(self) -> bool:
        """Kill a keeper: its worker must start another one before the leases expire."""
        keepers = [keeper for worker in self.workers for keeper in worker.waiting_keepers()]
        if not keepers:
            return False
        with suppress(ProcessLookupError):
            os.kill(self._dice.choice(keepers), signal.SIGKILL)
        return True

    async def _deploy(self) -> bool:
        """Stop a worker gracefully, and start one of the other release in its slot."""
        slot = self._dice.randrange(len(self.workers))
        leaving = self.workers[slot]
        leaving.signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while leaving.code is None and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        if leaving.code is None:
            return False
        self.counts[f"release {1 + self.counts['deploy'] % 2} started"] += 1
        self.put_worker(slot, 1 + self.counts["deploy"] % 2)
        return True

    async def _wait_for_progress(self, fault: str) -> None:
        """Wait until some steps have ended before the next fault: an engine that never runs breaks no rule."""
        began = time.monotonic()
        self._read_journal()
        before = self._ended
        while (
            self._ended < before + (_AFTER_WORKER if fault in self.worker_faults else _AFTER_OTHER)
            and time.monotonic() < began + _RECOVERY
            and not self.stopped
        ):
            await asyncio.sleep(0.05)
            self._read_journal()
        self.slowest[fault] = max(self.slowest[fault], int(1000 * (time.monotonic() - began)))

    def _read_journal(self) -> None:
        """Update the state from the new events of the journal."""
        for event in self._reader.read_new():
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

    async def _running_steps(self) -> list[RunningStep]:
        """Return steps that are running, in random order; none if none is found soon."""
        for _ in range(20):
            self._read_journal()
            now = time.monotonic()
            self._begun = {
                key: event
                for key, event in self._begun.items()
                if now - event["t"] < _RUNNING_UNTIL and self._newest[event["job"]] == event["lease"]
            }
            workers = {worker.pid: worker for worker in self.workers if worker.code is None}
            steps = [
                RunningStep(workers[event["pid"]], event["job"], event["lease"])
                for event in self._begun.values()
                if event["pid"] in workers and now - event["t"] > _RUNNING_AFTER
            ]
            if steps:
                return self._dice.sample(steps, len(steps))
            await asyncio.sleep(0.02)
        return []
