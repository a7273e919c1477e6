"""One run: workers, clients and the nemesis together for a while, then peace, then the checker."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from chaos import program
from chaos.checker import TERMINAL, Record, check
from chaos.journal import Journal
from chaos.load import Clients
from chaos.nemesis import FAULTS, Nemesis
from chaos.processes import Forked, end_keepers, preload

preload("chaos.program")

LEASE = 1.2
WORKERS = 3
PEACE = 40.0

# Written in the same transaction as each change, by nobody that Kairos knows of.
_AUDIT = """
create table effects (job bigint not null, n int not null);
create table audit (
  id bigserial, job bigint, action text, key text, old text, new text, old_lease bigint, new_lease bigint,
  old_n int, new_n int, now double precision, wall double precision, expires double precision
);
create function audit_job() returns trigger language plpgsql as $$ begin
  insert into audit (job, action, key, old, new, old_lease, new_lease, old_n, new_n, now, wall, expires) values (
    new.id, new.fsm, new.partition_key, old.status, new.status, old.lease, new.lease,
    (old.state->>'n')::int, (new.state->>'n')::int, extract(epoch from kairos.now()),
    extract(epoch from clock_timestamp()), extract(epoch from new.expires_at));
  return null;
end $$;
create trigger audit_job after update on kairos.gen_durable for each row
  when (old.status <> new.status or old.lease <> new.lease) execute function audit_job();
create trigger audit_new_job after insert on kairos.gen_durable for each row execute function audit_job();
"""
_JOBS = """
select id, fsm as action, status::text as status, result::text as output, reply_to, tags[1] as token,
       reaps, error_code from kairos.gen_durable order by id
"""
_LEFT = "select count(*) from kairos.gen_durable where status::text <> all ($1::text[]) and queue <> 'closed'"


@dataclass
class Report:
    """What came of a run; `missing` is what it should have done to mean anything."""

    seed: int
    violations: list[str]
    counts: Counter[str]
    missing: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "INVALID" if self.violations else "VACUOUS" if self.missing else "VALID"


async def run(
    url: str,
    folder: Path,
    *,
    seconds: float,
    seed: int,
    mutant: str | None = None,
    faults: Mapping[str, float] = FAULTS,
    crash: Callable[[], Awaitable[None]] | None = None,
    least: int = 0,
) -> Report:
    """Run for `seconds`, and until workers were killed or frozen `least` times; let it come to rest, and judge.

    `crash` makes Postgres die and come back.
    """
    dice = random.Random(seed)  # the same seed does the same again, as far as time allows
    journal = Journal(folder / "journal")
    settings = {"lease": LEASE, "poll": 0.1, "concurrency": 4, "grace": 5}
    faults = {name: weight for name, weight in faults.items() if name != "crash" or crash}
    async with _connected(url) as connection:
        await connection.execute(_AUDIT)

    def hire() -> Forked:
        return Forked(program.work, url, folder, settings, mutant)

    nemesis = Nemesis(url, journal, dice, LEASE, hire, crash)
    try:
        async with program.build(url, journal) as app:
            nemesis.workers = [hire() for _ in range(WORKERS)]
            clients = Clients(app, journal, dice)
            async with _while([clients.run(rate=12 + WORKERS), nemesis.run(faults)]):
                await asyncio.sleep(seconds)
                while nemesis.did["kill"] + nemesis.did["freeze"] < least:  # a machine may be busy
                    await asyncio.sleep(0.2)
            await clients.finish()
        async with _connected(url) as connection:
            await _peace(connection, nemesis)
            alive = sum(worker.code is None for worker in nemesis.workers)
            await _dismiss(nemesis)
            record = await _record(connection, journal)
    finally:
        for worker in nemesis.workers:
            if worker.code is None:
                worker.kill()
        end_keepers(f"{program.MARK}={folder}")
    counts = _counts(record, nemesis, (folder / "log").read_text(errors="replace"))
    counts["workers alive at the end"] = alive
    return Report(seed, check(record), counts, _missing(counts, seconds, faults))


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _while(work: list[Any]) -> AsyncIterator[None]:
    """The work goes on in the background; what breaks there breaks the run."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for answer in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(answer, asyncio.CancelledError) and isinstance(answer, BaseException):
                raise answer


async def _peace(connection: asyncpg.Connection, nemesis: Nemesis) -> None:
    """No more faults: everything that was accepted has to come to its end."""
    for worker in nemesis.workers:
        if worker.code is None:
            worker.signal(signal.SIGCONT)
    with suppress(TimeoutError):
        async with asyncio.timeout(PEACE):
            while await connection.fetchval(_LEFT, list(TERMINAL)):
                nemesis.replace_the_dead()
                await asyncio.sleep(0.1)


async def _dismiss(nemesis: Nemesis) -> None:
    for worker in nemesis.workers:
        if worker.code is None:
            worker.signal(signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(15):
            while any(worker.code is None for worker in nemesis.workers):
                await asyncio.sleep(0.05)


async def _record(connection: asyncpg.Connection, journal: Journal) -> Record:
    jobs = [dict(row) for row in await connection.fetch(_JOBS)]
    for job in jobs:
        job["output"] = None if job["output"] is None else json.loads(job["output"])
    audit = [dict(row) for row in await connection.fetch("select * from audit order by id")]
    effects = [dict(row) for row in await connection.fetch("select * from effects")]
    return Record(journal.read(), jobs, audit, effects, program.STEPS, program.CHILDREN)


def _counts(record: Record, nemesis: Nemesis, log: str) -> Counter[str]:
    counts: Counter[str] = Counter({f"jobs {job}": 0 for job in TERMINAL})
    counts.update(f"jobs {job['status']}" for job in record.jobs)
    counts.update(f"failed as {job['error_code']}" for job in record.jobs if job["status"] == "failed")
    counts.update(event["e"] for event in record.journal)
    counts.update(nemesis.did)
    counts["reaps"] = sum(job["reaps"] for job in record.jobs)
    counts["zombies refused"] = log.count("stale commit refused") + log.count("lease lost while running")
    counts["letters that woke"] = len([e for e in record.events("sent") if e["answer"] == "woke"])
    counts["letters that waited"] = len([e for e in record.events("sent") if e["answer"] == "delivered"])
    counts["dead loops"] = log.count("a worker loop died")
    return counts


def _missing(counts: Counter[str], seconds: float, faults: Mapping[str, float]) -> list[str]:
    """A green run has to prove that it did something."""
    each_ten_seconds = {
        "kill": 1,
        "freeze": 1,
        "cut": 0.5,
        "reaps": 2,
        "zombies refused": 0.5,
        "jobs expired": 1,
        "jobs cancelled": 1,
        "letters that woke": 1,
        "letters that waited": 1,
        "ack": 40,
    }
    wanted = {
        name: max(1, int(many * seconds / 10))
        for name, many in each_ten_seconds.items()
        if name not in FAULTS or name in faults
    }
    short = [f"{name}: {counts[name]} of {many}" for name, many in wanted.items() if counts[name] < many]
    if counts["workers alive at the end"] < WORKERS:
        short.append("a worker did not live to the end")
    if counts["dead loops"]:
        short.append("a loop of a worker died by itself")
    return short
