"""One run: workers, clients and the nemesis together for a while, then peace, then the checker.

Every wait is bounded, and what does not come in time is a violation: a run ends with a verdict.
"""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from chaos import audit, guards, program, recovery
from chaos.checker import UNDER_LOAD, check
from chaos.faults import DatabaseFaults, NetworkFaults, ServerFaults, ServiceFaults
from chaos.growth import Growth
from chaos.journal import Journal
from chaos.load import Clients
from chaos.nemesis import Fault, Nemesis
from chaos.network import CONNECTION_LOST, PGBOUNCER, Network, Pooler
from chaos.postgres import Cluster
from chaos.processes import Forked, end_keepers, preload
from chaos.record import TERMINAL, Record
from chaos.report import Report
from kairos import Kairos, KairosError
from kairos.errors import Conflict

preload("chaos.program")

LEASE = 1.2
WORKERS = 3
PEACE = 60.0  # seconds without progress
TICK = 2  # seconds between two ticks of the schedule

_LEFT = """
select count(*) as all, count(partition_key) as keyed
from kairos.gen_durable where status::text <> all ($1::text[]) and queue <> 'closed'
"""

_WAITING = "select id from kairos.gen_durable where fsm = 'inbox' and completed_at is null"

# How often each fault is chosen, where it is possible.
WEIGHTS = {
    "kill": 4.0,
    "lost machine": 1.0,
    "freeze": 4.0,
    "cut": 2.0,
    "unkeep": 1.0,
    "deploy": 0.7,
    "freeze in a keyed pick": 0.7,
    "freeze in a limited pick": 0.7,
    "freeze in a commit": 0.7,
    "freeze in a step's transaction": 0.7,
    "snapshot": 0.3,
    "row lock": 0.5,
    "table lock": 0.3,
    "wire cut": 1.0,
    "blackhole": 0.4,
    "cut after commit": 3.0,
    "answer dropped": 1.0,
    "notify lost": 0.6,
    "pooler": 0.6,
    "service": 0.8,
    "crash": 1.5,
    "read only": 0.3,
    "disk": 0.3,
    "failover": 0.15,
    "hung primary": 0.15,
}


@dataclass
class Plan:
    """What a run is to do."""

    seconds: float = 60.0
    seed: int = 1
    mutant: str | None = None
    faults: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    least: int = 0  # kills and freezes without which it does not end, on a machine that is busy
    rate: float = 12.0 + WORKERS
    backlog: int = 60
    http: bool = True
    load: float = 0.0  # jobs a second beside those that are judged one by one; then nothing may grow
    watch: Callable[[Run], None] = lambda run: None
    workers: int = WORKERS


class Run:
    """The parts of a run, and how far it has come."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.folder = folder
        self.journal = Journal(folder / "journal")
        self.dice = random.Random(plan.seed)  # the same seed does the same again, as far as time allows
        self.began = time.monotonic()
        self.stage = "starting"
        self.pooler: Pooler | None = None
        self.left = -1

    async def on(self, url: str, cluster: Cluster | None = None) -> Report:
        """Run against a migrated, empty database."""
        plan = self.plan
        self.direct = (lambda: cluster.primary.url()) if cluster else (lambda: url)
        self.growth = Growth(self.direct, self._processes)
        async with _connected(url) as connection:
            await (audit.install_effects if plan.load else audit.install)(connection)
        try:
            async with AsyncExitStack() as stack:
                standby = [cluster.standby.url()] if cluster and cluster.standby else []
                self.network = await stack.enter_async_context(Network(url, *standby))
                if PGBOUNCER is not None:
                    self.pooler = Pooler(self.network)
                    stack.callback(self.pooler.remove)
                    await self.pooler.start()
                self.nemesis = Nemesis(
                    self.folder, self.journal, self.dice, LEASE, self._hire, self._others(url, cluster, stack)
                )
                stack.callback(self._clean_up)
                await self._work(stack)
            record = await self._judged(cluster.primary.url() if cluster else url)
        finally:
            self._clean_up()
        counts = guards.count(record, self.nemesis.did)
        counts["workers alive at the end"] = self.alive
        counts.update(dict(recovery.figures(record)))
        counts.update({f"slowest recovery after {name}, ms": n for name, n in self.nemesis.slowest.items()})
        missing = guards.missing(counts, plan.seconds, self.chosen, plan.workers)
        violations = check(record)
        if plan.load:
            counts.update(self.growth.figures())
            # What retention has removed can be judged no more: only the faults and the accepted jobs must be enough.
            missing = [said for said in missing if said.partition(":")[0] in {*self.chosen, "ack"}]
            violations = [*check(record, UNDER_LOAD), *self.growth.violations()]
        return Report(plan.seed, plan.seconds, violations, counts, missing, self.impossible)

    # Its parts

    def _others(self, url: str, cluster: Cluster | None, stack: AsyncExitStack) -> dict[str, Fault]:
        database = (
            ServerFaults(cluster, self.network, self.dice)
            if cluster
            else DatabaseFaults(lambda: url, self.dice)
        )
        others = {**database.faults(), **NetworkFaults(self.network, self.pooler, self.dice).faults()}
        if self.plan.http:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = int(free.getsockname()[1])
            self.service = ServiceFaults(
                lambda: Forked(program.answer, self.network.url, self.folder, self.port)
            )
            stack.callback(lambda: self.service.process.kill())
            others |= self.service.faults()
        possible = {*others, "kill", "lost machine", "freeze", "unkeep", "deploy", *guards.TRANSACTIONS}
        self.chosen = {name: weight for name, weight in self.plan.faults.items() if name in possible}
        self.impossible = [f"{name}: not possible here" for name in self.plan.faults if name not in possible]
        return others

    def _hire(self, release: int) -> Forked:
        """A worker; one in three reaches Postgres through the pooler, where there is one."""
        settings: dict[str, Any] = {"lease": LEASE, "poll": 0.1, "concurrency": 4, "grace": 5}
        if self.plan.load:
            settings |= {"concurrency": 50, "retention": "1m"}
        url, connecting = self.network.url, {}
        if self.pooler is not None and self.dice.random() < 1 / 3:
            url, connecting = self.pooler.url, {"prepare": False, "direct_url": self.network.url}
        return Forked(program.work, url, self.folder, settings, release, self.plan.mutant, connecting)

    async def _work(self, stack: AsyncExitStack) -> None:
        plan, nemesis = self.plan, self.nemesis
        app = await stack.enter_async_context(program.build(self.network.url, self.journal))
        old = await stack.enter_async_context(
            program.build(self.network.url, self.journal, release=program.OLD)
        )
        await app.limit("limited", concurrency=3)
        for place in range(plan.workers):
            nemesis.hire(place, program.NEW)
        self.clients = Clients(app, old, self.journal, self.dice)
        if plan.http:
            await self.clients.listen(f"http://127.0.0.1:{self.port}", readers=2)
        first = await _schedule(app)
        self.stage = "faults"
        wanted = guards.wanted_faults(plan.seconds, self.chosen)
        of_workers = {name: self.chosen[name] for name in nemesis.of_workers if name in self.chosen}
        others = {name: weight for name, weight in self.chosen.items() if name not in of_workers}
        tending = [nemesis.tend(), self._tend_service(), self._count_backlog(), self._show()]
        async with _while(tending):
            attack = [nemesis.run(of_workers, wanted), nemesis.run(others, wanted)]
            clients = [self.clients.run(plan.rate, plan.backlog)]
            if plan.load:
                clients += [self.clients.pour(plan.load), self.growth.run(plan.seconds / 60)]
            async with asyncio.TaskGroup() as faults:
                for each in attack:
                    faults.create_task(each)
                async with _while(clients):
                    await asyncio.sleep(plan.seconds)
                    await self._until_enough(wanted)
                # A fault that is under way is brought to its end: a disk stays full for nobody.
                self.stage, nemesis.over = "the last faults", True
            self.stage = "peace"
            await self._come_to_rest(app, first)

    async def _until_enough(self, wanted: Mapping[str, int]) -> None:
        """A machine may be busy: a run goes on until it has done enough, or it is clear that it never will."""
        deadline = time.monotonic() + 4 * self.plan.seconds + 60
        seen, since = -1, time.monotonic()
        while time.monotonic() < min(deadline, since + PEACE) and not self._did_enough(wanted):
            if (done := self.nemesis.did.total() + self.clients.did.total()) != seen:
                seen, since = done, time.monotonic()
            await asyncio.sleep(0.2)

    def _did_enough(self, wanted: Mapping[str, int]) -> bool:
        did = self.nemesis.did
        enough = all(did[name] >= many for name, many in wanted.items())
        asked = guards.wanted_of_clients(self.plan.seconds, http=self.plan.http)
        enough &= all(self.clients.did[name] >= many for name, many in asked.items())
        return enough and did["kill"] + did["freeze"] >= self.plan.least

    async def _tend_service(self) -> None:
        while self.plan.http:
            self.service.replace_the_dead()
            await asyncio.sleep(0.1)

    async def _come_to_rest(self, app: Kairos, first: int) -> None:
        """Faults are over: everything that was accepted has to come to its end."""
        self.network.blackhole(False)
        self.network.deafen(False)
        self.nemesis.wake_all()
        await self.nemesis.finish_deploy()
        await self.clients.finish()
        await _patiently(lambda: self._give_up_unknown(app))
        until = await _patiently(lambda: _pause(app))
        self.journal.tell("schedule", name="often", period=TICK, first=first, until=until or 0)
        self.left = -1  # unknown: asked anew
        self.drained = await self._peace()
        await self.clients.close()
        self.alive = sum(worker.code is None for worker in self.nemesis.workers)

    async def _give_up_unknown(self, app: Kairos) -> None:
        """Cancel what waits for letters and was never acknowledged: nobody knows of it, so nobody writes to it."""
        known = {event["job"] for event in self.journal.events("ack")}
        async with app.store.connection() as connection:
            live = await connection.fetch(_WAITING)
        for row in live:
            if row["id"] not in known:
                with suppress(Conflict):  # it has just ended
                    await app.cancel(row["id"])

    async def _peace(self) -> bool:
        """Wait while there is progress; without any for PEACE seconds it will never come to rest."""
        least, since = None, time.monotonic()
        while time.monotonic() - since < PEACE:
            self.nemesis.wake_all()
            if self.left == 0:
                return True
            if self.left >= 0 and (least is None or self.left < least):
                least, since = self.left, time.monotonic()
            await asyncio.sleep(0.1)
        return False

    async def _count_backlog(self) -> None:
        """How many jobs are live, past everything that is broken."""
        while True:
            with suppress(*CONNECTION_LOST):
                async with asyncio.timeout(20), _connected(self.direct()) as connection:
                    while True:
                        live = await connection.fetchrow(_LEFT, list(TERMINAL))
                        self.left = self.clients.backlog = live["all"]
                        self.clients.keyed = live["keyed"]
                        await asyncio.sleep(0.25)
            await asyncio.sleep(0.2)

    async def _judged(self, url: str) -> Record:
        self.stage = "checking"
        said = (self.folder / "log").read_text(errors="replace")
        async with _connected(url) as connection:
            known = {"steps": program.STEPS, "children": program.CHILDREN, "drained": self.drained}
            return await audit.read(connection, self.journal, said=said, **known)

    def _processes(self) -> dict[str, list[int]]:
        service = {"service": [self.service.process.pid]} if self.plan.http else {}
        return {"workers": [worker.pid for worker in self.nemesis.workers], **service}

    async def _show(self) -> None:
        while True:
            self.plan.watch(self)
            await asyncio.sleep(0.5)

    def _clean_up(self) -> None:
        """Ask every worker to leave, and end who does not."""
        if not hasattr(self, "nemesis"):
            return
        workers = [worker for worker in self.nemesis.workers if worker.code is None]
        for worker in workers:
            worker.signal(signal.SIGCONT)
            worker.signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while any(worker.code is None for worker in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        for worker in workers:
            if worker.code is None:
                worker.kill()
        end_keepers(f"{program.MARK}={self.folder}")


async def run(url: str, folder: Path, *, cluster: Cluster | None = None, **plan: Any) -> Report:
    """Run by a plan; `cluster` is the Postgres that may be crashed, filled and failed over."""
    return await Run(Plan(**plan), folder).on(url, cluster)


async def _schedule(app: Kairos) -> int:
    """A schedule that ticks often and makes up for every tick; answers its first tick, in microseconds."""
    await app.schedules.add(
        "often", f"every {TICK} seconds", app.action("tick").call(), catch_up="all", overlap="allow"
    )
    ticks = (await app.schedules.get("often")).next_ticks
    return int(ticks[0].timestamp() * 1_000_000)


async def _pause(app: Kairos) -> int:
    """Let the schedule catch up with this moment, if it ever does, and pause it; answers it, in microseconds."""
    deadline = time.monotonic() + 60
    async with app.store.connection() as connection:
        now = await connection.fetchval("select kairos.now()")
        while time.monotonic() < deadline:
            if await connection.fetchval("select cursor_at >= $1 from kairos.schedules", now):
                break
            await asyncio.sleep(0.1)
    await app.schedules.pause("often")
    return int(now.timestamp() * 1_000_000)


async def _patiently(ask: Callable[[], Any]) -> Any:
    """The answer, once the database gives one; None if it never does."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return await ask()
        except (KairosError, *CONNECTION_LOST):
            await asyncio.sleep(0.2)
    return None


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url, timeout=30)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _while(work: list[Any]) -> AsyncIterator[None]:
    """The work goes on in the background; what breaks there breaks the run, at once."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
