"""Everyone at once, for a while: nobody ever waits in a circle, and nothing is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import asyncpg
from tests.engine_statements import (
    ADVISORY,
    DEADLOCKS,
    LEASE,
    Hand,
    Rig,
    call,
    done,
    go,
    park,
    replay,
    rig,
    stop,
)
from tests.interleavings.laws import hold

from kairos import operations
from kairos.errors import KairosError

TURNS, BATCH = 40, 100
UNIQUE = [None, *(f"u{number}" for number in range(80))]
KEYS = [None, None, "k1", "k2"]
OUTCOMES = [done, stop, go, replay, lambda claim: park(claim, "go"), lambda claim: park(claim, "ended")]
LIVE = "select id from kairos.gen_durable where completed_at is null order by random() limit 40"
SPOIL = """
update kairos.gen_durable set lease_expires_at = kairos.now()
where id in (
  select id from kairos.gen_durable where status = 'executing' order by random() limit 20 for update skip locked
)
"""
Actor = Callable[[Rig, random.Random], Awaitable[None]]


async def some(jobs: Rig) -> list[int]:
    """A few jobs that are not over, none in particular."""
    return [row["id"] for row in await jobs.fetch(LIVE)]


async def works(jobs: Rig, dice: random.Random) -> None:
    """Pick a batch and commit it in any order, some of it twice; now and then as a zombie, much later."""
    hand = jobs.worker(f"w{dice.randrange(3)}")
    claims = await hand.pick(room=BATCH)
    batch = [dice.choice(OUTCOMES)(claim) for claim in claims]
    dice.shuffle(batch)
    await asyncio.sleep(dice.random() * 0.01)
    if batch:
        await hand.commit(*batch)
        await hand.commit(*batch[: dice.randrange(3)] or batch)


async def enqueues(jobs: Rig, dice: random.Random) -> None:
    """Batches with keys that others want too, replies to any job there is, and TTLs that close at once."""
    parents = await some(jobs) or [1]
    calls = [
        call(
            key=dice.choice(KEYS),
            unique=dice.choice(UNIQUE),
            reply_to=dice.choice([None, (dice.choice(parents), "ended")]),
            ttl=dice.choice([None, None, 0.005]),
            max_reaps=dice.choice([0, 5]),
        )
        for _ in range(BATCH)
    ]
    await jobs.store.run(operations.insert(calls))


async def cancels(jobs: Rig, dice: random.Random) -> None:
    for job in (await some(jobs))[:5]:
        await jobs.ask(operations.cancel(job))


async def signals(jobs: Rig, dice: random.Random) -> None:
    for job in (await some(jobs))[:5]:
        await jobs.ask(operations.signal(job, "go"))


async def keeps(jobs: Rig, dice: random.Random) -> None:
    """What a keeper and a worker say about steps that may be ending at this moment."""
    rows = await jobs.fetch("select id, lease from kairos.gen_durable where status = 'executing'")
    dice.shuffle(rows)
    ids, leases = [row["id"] for row in rows], [row["lease"] for row in rows]
    holder = f"w{dice.randrange(3)}"
    await jobs.run("renew_leases", ids, leases, LEASE, holder)
    await jobs.run("report_progress", ids, leases, ["{}"] * len(ids), holder)


async def sweeps(jobs: Rig, dice: random.Random) -> None:
    await jobs.fetch(SPOIL)
    await jobs.sweep()
    await jobs.run(
        "release_unstarted", f"w{dice.randrange(3)}", [row["id"] for row in await jobs.fetch(LIVE)]
    )


ACTORS: list[Actor] = [works, works, enqueues, enqueues, cancels, signals, keeps, sweeps]


async def test_a_storm_of_everything_leaves_no_deadlock_behind(database: str) -> None:
    watcher = await asyncpg.connect(database)
    before = await watcher.fetchval(DEADLOCKS)

    async def plays(jobs: Rig, actor: Actor, seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(TURNS):
            try:
                await actor(jobs, dice)
            except KairosError as late:  # it ended in between
                assert late.code in ("INVALID_TRANSITION", "CONFLICT", "NOT_FOUND"), late

    async with rig(database) as jobs:
        for seed in range(10):
            await enqueues(jobs, random.Random(seed))
        await asyncio.gather(*(plays(jobs, actor, seed) for seed, actor in enumerate(ACTORS)))
        accepted = await jobs.value("select count(*) from kairos.gen_durable")
        await hold(jobs, [row["id"] for row in await jobs.fetch("select id from kairos.signals")])
        ended = await jobs.value("select count(*) from kairos.gen_durable where completed_at is not null")
        assert accepted >= ended > 100
        assert await jobs.value(ADVISORY) == 0
        assert await ends_everything(jobs) == accepted
    assert await watcher.fetchval(DEADLOCKS) == before
    await watcher.close()


async def ends_everything(jobs: Rig) -> int:
    """Cancel what waits, run what is due, and answer how many jobs there are that came to an end."""
    waiting = await jobs.fetch("select id from kairos.gen_durable where status = 'awaiting_signal'")
    for row in waiting:
        await jobs.run("cancel_jobs", [row["id"]], None, None)
    await jobs.fetch("update kairos.gen_durable set lease_expires_at = now() where status = 'executing'")
    hand: Hand = jobs.worker("last")
    for _ in range(3):
        await jobs.sweep()
        await hand.run()
    return int(await jobs.value("select count(*) from kairos.gen_durable where completed_at is not null"))
