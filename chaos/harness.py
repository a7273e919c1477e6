"""One run: workers, clients and faults for a while, then no faults until all jobs have ended, then the checker.

Every wait is bounded, and what does not happen in time is a violation, so a run always ends with a verdict.
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

from chaos import audit, guards, program, recovery, schedule
from chaos.checker import UNDER_LOAD, check
from chaos.faults import DatabaseFaults, NetworkFaults, ServerFaults, ServiceFaults
from chaos.growth import Growth
from chaos.journal import Journal
from chaos.load import MIX, Clients
from chaos.nemesis import Fault, Nemesis
from chaos.network import CONNECTION_LOST, PGBOUNCER, Network, Pooler
from chaos.postgres import Cluster
from chaos.probe import INSTALL, probe
from chaos.processes import Forked, end_keepers, preload
from chaos.record import TERMINAL, Record
from chaos.report import Report
from kairos import Kairos, KairosError
from kairos.errors import Conflict

preload("chaos.program", "chaos.probe")

LEASE = 1.2
WORKERS = 3

_LIVE = """
select count(*) as all, count(partition_key) as keyed, count(*) filter (where queue = 'limited') as limited
from kairos.gen_durable where status::text <> all ($1::text[]) and queue <> 'closed'
"""

_WAITING = "select id from kairos.gen_durable where fsm = 'inbox' and completed_at is null"

# The relative frequency of each fault, if it is possible here.
WEIGHTS = {
    "kill": 4.0,
    "lost machine": 1.0,
    "freeze": 4.0,
    "cut": 2.0,
    "kill keeper": 1.0,
    "deploy": 0.7,
    "freeze in a keyed pick": 0.7,
    "freeze in a limited pick": 0.7,
    "freeze in a commit": 0.7,
    "freeze while keys are opened": 0.4,
    "freeze in a reap": 0.4,
    "freeze while ticks fire": 0.4,
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
    """The parameters of a run."""

    seconds: float = 60.0
    seed: int = 1
    mutant: str | None = None
    faults: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    least: int = 0  # kills and freezes that the run needs before it ends, however slow the machine is
    rate: float = 12.0 + WORKERS
    backlog: int = 60
    http: bool = True
    mix: Mapping[str, float] = field(default_factory=lambda: MIX)
    patience: float = 60.0  # seconds without progress after which a run is stuck
    load: float = 0.0  # jobs a second beside those that are checked one by one; then growth is checked too
    watch: Callable[[Run], None] = lambda run: None
    workers: int = WORKERS

    @property
    def concurrency(self) -> int:
        """Few steps at once, so that jobs wait for each other; more only where the rate asks for them."""
        if self.load:
            return 50
        return 4 if self.rate <= 20 else round(self.rate / 2)


class Run:
    """The parts of a run and its progress."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.folder = folder
        self.journal = Journal(folder / "journal")
        self.dice = random.Random(plan.seed)  # the same seed repeats a run, as far as its timing allows
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
            await connection.execute(INSTALL)
        try:
            async with AsyncExitStack() as stack:
                standby = [cluster.standby.url()] if cluster and cluster.standby else []
                self.network = await stack.enter_async_context(Network(url, *standby))
                if PGBOUNCER is not None:
                    self.pooler = Pooler(self.network)
                    stack.callback(self.pooler.remove)
                    await self.pooler.start()
                self.nemesis = Nemesis(
                    self.folder,
                    self.journal,
                    self.dice,
                    LEASE,
                    self._start_worker,
                    self._other_faults(url, cluster, stack),
                )
                stack.callback(Forked(probe, self.network.url, self.folder).kill)
                stack.push_async_callback(self._stop_workers)
                await self._work(stack)
            record = await self._read_record(cluster.primary.url() if cluster else url)
        finally:
            self._clean_up()
        counts = guards.count(record, self.nemesis.counts)
        counts["workers alive at the end"] = self.alive
        counts.update(dict(recovery.figures(record)))
        counts.update({f"slowest recovery after {name}, ms": n for name, n in self.nemesis.slowest.items()})
        missing = guards.missing(counts, plan.seconds, self.chosen, plan.workers)
        violations = check(record)
        if plan.load:
            counts.update(self.growth.figures())
            counts["ack of the load"] = self.clients.counts["ack"] - counts["ack"]
            # Retention has removed ended jobs: only the faults and the acknowledged jobs can be counted.
            missing = [each for each in missing if each.partition(":")[0] in {*self.chosen, "ack"}]
            violations = [*check(record, UNDER_LOAD), *self.growth.violations()]
        violations += [f"a client failed: {error}" for error in self.clients.failures]
        return Report(plan.seed, plan.seconds, violations, counts, missing, self.impossible)

    # The parts of a run

    def _other_faults(self, url: str, cluster: Cluster | None, stack: AsyncExitStack) -> dict[str, Fault]:
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
                lambda: Forked(program.serve_http, self.network.url, self.folder, self.port)
            )
            stack.callback(lambda: self.service.process.kill())
            others |= self.service.faults()
        possible = {*others, "kill", "lost machine", "freeze", "kill keeper", "deploy", *guards.TRANSACTIONS}
        self.chosen = {name: weight for name, weight in self.plan.faults.items() if name in possible}
        self.impossible = [f"{name}: not possible here" for name in self.plan.faults if name not in possible]
        return others

    def _start_worker(self, release: int) -> Forked:
        """Start a worker; one in three connects through the pooler, if there is one."""
        settings: dict[str, Any] = {
            "lease": LEASE,
            "poll": 0.1,
            "concurrency": self.plan.concurrency,
            "grace": 5,
        }
        if self.plan.load:
            settings["retention"] = "1m"
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
        for slot in range(plan.workers):
            nemesis.put_worker(slot, program.NEW)
        self.clients = Clients(app, old, self.journal, self.dice)
        if plan.http:
            await self.clients.listen(f"http://127.0.0.1:{self.port}", readers=2)
        first = await schedule.add(app)
        self.stage = "faults"
        wanted = guards.wanted_faults(plan.seconds, self.chosen)
        of_workers = {name: self.chosen[name] for name in nemesis.worker_faults if name in self.chosen}
        others = {name: weight for name, weight in self.chosen.items() if name not in of_workers}
        background = [
            nemesis.replace_dead_workers(),
            self._restart_service(),
            self._count_backlog(),
            self._show(),
        ]
        async with _in_background(background):
            attack = [nemesis.run(of_workers, wanted), nemesis.run(others, wanted)]
            clients = [self.clients.run(plan.rate, plan.backlog, plan.mix)]
            if plan.load:
                clients += [self.clients.enqueue_load(plan.load), self.growth.run(plan.seconds / 60)]
            async with asyncio.TaskGroup() as faults:
                for each in attack:
                    faults.create_task(each)
                async with _in_background(clients):
                    await asyncio.sleep(plan.seconds)
                    await self._wait_until_enough(wanted)
                # Let faults that have begun end, so that no disk stays full.
                self.stage, nemesis.stopped = "last faults", True
            self.stage = "draining"
            await self._drain(app, first)

    async def _wait_until_enough(self, wanted: Mapping[str, int]) -> None:
        """Go on until enough has happened, since the machine may be busy; give up without progress."""
        patience = self.plan.patience
        deadline = time.monotonic() + 4 * self.plan.seconds + patience
        seen, since = -1, time.monotonic()
        while time.monotonic() < min(deadline, since + patience) and not self._has_done_enough(wanted):
            if (done := self.nemesis.counts.total() + self.clients.counts.total()) != seen:
                seen, since = done, time.monotonic()
            await asyncio.sleep(0.2)

    def _has_done_enough(self, wanted: Mapping[str, int]) -> bool:
        plan, counts = self.plan, self.nemesis.counts
        enough = all(counts[name] >= least for name, least in wanted.items())
        wanted_acks = guards.wanted_of_clients(plan.seconds, http=plan.http, signals="inbox" in plan.mix)
        enough &= all(self.clients.counts[name] >= least for name, least in wanted_acks.items())
        return enough and counts["kill"] + counts["freeze"] >= plan.least

    async def _restart_service(self) -> None:
        while self.plan.http:
            self.service.replace_dead()
            await asyncio.sleep(0.1)

    async def _drain(self, app: Kairos, first: int) -> None:
        """After the faults: wait until every accepted job has ended."""
        self.network.blackhole(False)
        self.network.drop_notifications(False)
        self.nemesis.wake_all()
        await self.nemesis.finish_deploy()
        await self.clients.finish(self.plan.patience)
        await _retry_until_answered(lambda: self._cancel_unacknowledged(app))
        until = await _retry_until_answered(lambda: schedule.pause(app))
        self.journal.write("schedule", name="often", period=schedule.TICK, first=first, until=until or 0)
        self.left = -1  # unknown until the next count
        self.drained = await self._wait_until_drained()
        await self.clients.close()
        self.alive = sum(worker.code is None for worker in self.nemesis.workers)

    async def _cancel_unacknowledged(self, app: Kairos) -> None:
        """Cancel the jobs that await signals and whose enqueue was not acknowledged: no client sends them any."""
        known = {event["job"] for event in self.journal.events("ack")}
        async with app.store.connection() as connection:
            live = await connection.fetch(_WAITING)
        for row in live:
            if row["id"] not in known:
                with suppress(Conflict):  # it has just ended
                    await app.cancel(row["id"])

    async def _wait_until_drained(self) -> bool:
        """Wait until no job is left; return False after `patience` seconds without progress."""
        least, since = None, time.monotonic()
        while time.monotonic() - since < self.plan.patience:
            self.nemesis.wake_all()
            if self.left == 0:
                return True
            if self.left >= 0 and (least is None or self.left < least):
                least, since = self.left, time.monotonic()
            await asyncio.sleep(0.1)
        return False

    async def _count_backlog(self) -> None:
        """Count the live jobs again and again, on a connection without proxies."""
        while True:
            with suppress(*CONNECTION_LOST):
                async with asyncio.timeout(20), _connected(self.direct()) as connection:
                    while True:
                        live = await connection.fetchrow(_LIVE, list(TERMINAL))
                        self.left = self.clients.backlog = live["all"]
                        self.clients.keyed, self.clients.limited = live["keyed"], live["limited"]
                        await asyncio.sleep(0.25)
            await asyncio.sleep(0.2)

    async def _read_record(self, url: str) -> Record:
        self.stage = "checking"
        log = (self.folder / "log").read_text(errors="replace")
        async with _connected(url) as connection:
            known = {"steps": program.STEPS, "children": program.CHILDREN, "drained": self.drained}
            return await audit.read(connection, self.journal, log=log, **known)

    def _processes(self) -> dict[str, list[int]]:
        service = {"service": [self.service.process.pid]} if self.plan.http else {}
        return {"workers": [worker.pid for worker in self.nemesis.workers], **service}

    async def _show(self) -> None:
        while True:
            self.plan.watch(self)
            await asyncio.sleep(0.5)

    async def _stop_workers(self) -> None:
        """Ask every worker to stop while its network, which runs in this loop, still carries its last statements."""
        workers = [worker for worker in self.nemesis.workers if worker.code is None]
        for worker in workers:
            worker.signal(signal.SIGCONT)
            worker.signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                while any(worker.code is None for worker in workers):
                    await asyncio.sleep(0.05)

    def _clean_up(self) -> None:
        """End whoever is left."""
        if not hasattr(self, "nemesis"):
            return
        for worker in self.nemesis.workers:
            if worker.code is None:
                worker.kill()
        end_keepers(f"{program.MARK}={self.folder}")


async def run(url: str, folder: Path, *, cluster: Cluster | None = None, **plan: Any) -> Report:
    """Run with the parameters of `Plan`; `cluster` is a Postgres that may be crashed, filled and failed over."""
    return await Run(Plan(**plan), folder).on(url, cluster)


async def _retry_until_answered(request: Callable[[], Any]) -> Any:
    """Return the answer once the database gives one; None if it does not within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return await request()
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
async def _in_background(work: list[Any]) -> AsyncIterator[None]:
    """Run tasks in the background; an error in one of them ends the run at once."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
