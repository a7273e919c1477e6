"""Each job and each history row is counted exactly once: late commits, a death in the middle and rivals included."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest
from tests.engine_statements import Rig, call, done, go, hand_back, park, replay, rig, stop
from tests.stats.counting import by_hand, count, now, tallied, total

from kairos import Kairos, operations
from kairos.fsm.lifecycle import Verb
from kairos.store.query import Query, drive
from kairos.worker import stats_counter
from kairos.worker.pruner import Pruner
from kairos.worker.stats_counter import StatsCounter, count_new


async def test_a_job_that_commits_late_is_counted_with_those_that_overtook_it(database: str) -> None:
    async with rig(database) as world:
        await count(world.store)
        slow = await world.store.connect()
        transaction = slow.transaction()
        await transaction.start()
        await slow.execute(
            "insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at) "
            "values ('act', 'run', now(), now(), now())"
        )
        await world.enqueue()
        await count(world.store)
        assert total(await tallied(world.store), "accepted") == 0  # not decided: nothing is skipped over
        await transaction.commit()
        await slow.close()
        await count(world.store)
        assert total(await tallied(world.store), "accepted") == 2


async def test_an_id_taken_before_the_transaction_has_written_anything_is_waited_for_too(
    database: str,
) -> None:
    """The id is drawn, and only then does the transaction get a number of its own: xmin would not show it."""
    async with rig(database) as world:
        slow = await world.store.connect()
        drawing = asyncio.create_task(
            slow.execute(
                "with drawn as materialized (select nextval('kairos.gen_durable_id_seq') as id, pg_sleep(1)) "
                "insert into kairos.gen_durable (id, fsm, step, eligible_at, inserted_at, updated_at) "
                "overriding system value select id, 'act', 'run', now(), now(), now() from drawn"
            )
        )
        while await world.value("select pg_sequence_last_value('kairos.gen_durable_id_seq')") is None or not (
            await world.value("select count(*) from pg_stat_activity where wait_event = 'PgSleep'")
        ):
            await asyncio.sleep(0.01)
        await world.enqueue()
        await count(world.store, 3)
        await drawing
        await slow.close()
        await count(world.store)
        assert total(await tallied(world.store), "accepted") == 2


async def test_a_change_that_commits_late_is_counted_and_holds_up_no_accepted_job(database: str) -> None:
    async with rig(database) as world:
        late, other = await world.enqueue(), await world.enqueue()
        slow = await world.store.connect()
        transaction = slow.transaction()
        await transaction.start()
        await drive(operations.cancel(late), lambda query: world.store.on(slow, query))
        await world.ask(operations.cancel(other))
        await count(world.store)
        assert total(await tallied(world.store), "cancelled") == 0
        await transaction.commit()
        await slow.close()
        await count(world.store)
        found = await tallied(world.store)
        assert (total(found, "cancelled"), total(found, "accepted")) == (2, 2)


async def test_what_is_rolled_back_holds_nothing_up_and_counts_for_nothing(database: str) -> None:
    async with rig(database) as world:
        slow = await world.store.connect()
        transaction = slow.transaction()
        await transaction.start()
        await drive(operations.enqueue(call()), lambda query: world.store.on(slow, query))
        await world.enqueue()
        await transaction.rollback()
        await slow.close()
        await count(world.store)
        assert total(await tallied(world.store), "accepted") == 1


@pytest.mark.parametrize(
    "after",
    [
        "lock_stats_cursors",
        "save_stats_cursor",
        "add_jobs_to_stats",
        "add_history_to_stats",
        "advance_stats_cursor",
    ],
)
async def test_whoever_dies_while_counting_leaves_it_to_the_next(database: str, after: str) -> None:
    async with rig(database) as world:
        await _some_life(world)
        await world.run("insert_stats_cursors")
        doomed = await world.store.connect()
        transaction = doomed.transaction()
        await transaction.start()

        async def until_death(query: Query) -> object:
            rows = await world.store.on(doomed, query)
            if query.name == after:
                await world.value("select pg_terminate_backend($1)", doomed.get_server_pid())
            return rows

        with pytest.raises(Exception, match=r"terminat|closed|progress"):
            await drive(count_new(), until_death)
            await transaction.commit()
        await count(world.store)
        assert await tallied(world.store) == await by_hand(world.store)


async def test_a_death_after_the_commit_counts_nothing_twice(database: str) -> None:
    async with rig(database) as world:
        await _some_life(world)
        await count(world.store)
        for _ in range(3):
            await StatsCounter(world.store).tick()
        assert await tallied(world.store) == await by_hand(world.store)


async def test_while_one_counts_another_does_not_wait(database: str) -> None:
    async with rig(database) as world:
        await world.enqueue()
        await world.run("insert_stats_cursors")
        async with world.store.transaction() as first:
            await world.store.on(first, Query("lock_stats_cursors"))
            async with asyncio.timeout(20):
                await StatsCounter(world.store).tick()
        assert await tallied(world.store) == {}


async def test_four_count_at_once_during_a_random_life_and_the_sums_are_right(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_counter, "BATCH", 7)
    monkeypatch.setattr(count_new, "__defaults__", (7,))
    async with rig(database) as world:
        over = asyncio.Event()

        async def counter() -> None:
            loop = StatsCounter(world.store)
            while not over.is_set():
                await loop.tick()
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            counters = [group.create_task(counter()) for _ in range(4)]
            lives = [group.create_task(_random_life(world, seed)) for seed in range(4)]
            await asyncio.gather(*lives)
            over.set()
            await asyncio.gather(*counters)
        while await StatsCounter(world.store).tick() < 1.5:
            pass
        expected = await by_hand(world.store)
        assert await tallied(world.store) == expected
        assert all(total(expected, what) for what in ("accepted", "started", "success", "failed", "retried"))
        ever, hours = await tallied(world.store, 0), await tallied(world.store, 3600)
        for what in ("accepted", "started", "success", "failed", "cancelled", "retried"):
            assert total(ever, what) == total(hours, what) == total(expected, what)


async def test_the_states_are_all_the_jobs_there_are_whenever_they_are_purged(app: Kairos) -> None:
    """Purged after they were counted, or before: an ended job that is gone is no longer among the ended."""
    world = Rig(app.store)
    await _some_life(world)
    await count(world.store)
    before = await now(world.store)
    assert before.counted_at is None
    assert dict(before.states) == await _states(world)
    await _some_life(world)  # ended, and not counted yet
    pruner = Pruner(world.store, timedelta(0))
    await pruner.tick()
    await count(world.store)
    after = await now(world.store)
    assert dict(after.states) == await _states(world)
    assert after.states["success"] == 0
    assert sum(each.counts["success"] for each in after.totals) == before.states["success"]


async def _states(world: Rig) -> dict[str, int]:
    rows = await world.fetch(
        "select kairos.job_state(status, eligible_at, kairos.now()) as state, count(*) as n "
        "from kairos.gen_durable group by 1"
    )
    counted = {row["state"]: row["n"] for row in rows}
    names = ["scheduled", "pending", "running", "waiting", "success", "failed", "cancelled", "expired"]
    return {name: counted.get(name, 0) for name in names}


async def _some_life(world: Rig) -> None:
    await world.enqueue_many(
        *[{"queue": "default" if n % 2 else "mail", "action": f"a{n % 3}"} for n in range(12)]
    )
    await world.enqueue(delay=3600)
    for queue in ("default", "mail"):
        hand = world.worker("w", [queue])
        claims = await hand.pick(queue, 5)
        await hand.commit(
            done(claims[0]),
            stop(claims[1]),
            replay(claims[2], verb=Verb.RETRY),
            park(claims[3], "x"),
            go(claims[4]),
        )


async def _random_life(world: Rig, seed: int) -> None:
    chance = random.Random(seed)
    queue = f"q{seed % 2}"
    for turn in range(8):
        await world.enqueue_many(
            *[{"queue": queue, "action": chance.choice("ab")} for _ in range(chance.randint(1, 9))]
        )
        hand = world.worker(f"w{seed}-{turn}", [queue])
        outcomes = [
            done,
            stop,
            go,
            hand_back,
            lambda claim: replay(claim, verb=Verb.RETRY),
            lambda c: park(c, "x"),
        ]
        claims = await hand.pick(queue, chance.randint(1, 12))
        await hand.commit(*(chance.choice(outcomes)(claim) for claim in claims))  # type: ignore[no-untyped-call]


async def test_a_commit_counts_its_own_outcomes_and_history_of_an_older_worker_is_counted_beside_it(
    database: str,
) -> None:
    async with rig(database) as world:
        await world.enqueue_many({}, {}, {})
        hand = world.worker()
        claims = await hand.pick()
        await hand.commit(done(claims[0]), done(claims[1]))
        # The third as code before this version writes it: not counted by its commit.
        await hand.commit(done(claims[2]))
        await world.fetch("alter table kairos.history disable trigger user")
        await world.fetch("update kairos.history set counted = null where job_id = $1", claims[2].id)
        await world.fetch("alter table kairos.history enable trigger user")
        await world.fetch("delete from kairos.stats_deltas where n = 1")
        await count(world.store)
        assert await tallied(world.store) == await by_hand(world.store)
        assert await world.value("select count(*) from kairos.stats_deltas") == 0
        await count(world.store)
        assert total(await tallied(world.store), "success") == 3
