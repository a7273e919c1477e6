"""The statement that writes lines, beside a reap, a new owner and itself: no interleaving lets a stale line in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.engine_statements import Rig, done, go, rig

from kairos.store.query import Query
from kairos.worker.claim import Claim
from kairos.worker.log_buffer import Line, write_query

_numbers = iter(range(1, 10**9))


@pytest.fixture
async def world(database: str) -> AsyncIterator[Rig]:
    async with rig(database) as world:
        yield world


def write(claim: Claim, *lines: str, worker: str = "w1", lease: int | None = None) -> Query:
    said = [
        Line(
            claim.id,
            claim.lease if lease is None else lease,
            "run",
            0,
            "info",
            line,
            None,
            None,
            next(_numbers),
            0.0,
        )
        for line in lines
    ]
    return write_query(worker, said, timedelta(seconds=30))


async def answer(world: Rig, query: Query, connection: Any = None) -> str:
    rows = await (world.store.run(query) if connection is None else world.store.on(connection, query))
    return str(rows[0]["answer"])


async def lines(world: Rig, job: int) -> list[tuple[int, str]]:
    return [(row["cursor"], row["line"]) for row in await world.run("read_logs", job, 0, 1000)]


async def picked(world: Rig) -> Claim:
    await world.enqueue()
    (claim,) = await world.worker("w1").pick()
    return claim


async def test_only_the_holder_of_the_lease_writes(world: Rig) -> None:
    claim = await picked(world)
    assert await answer(world, write(claim, "mine")) == "written"
    assert await answer(world, write(claim, "x", lease=claim.lease - 1)) == "stale"
    assert await answer(world, write(claim, "x", lease=claim.lease + 1)) == "stale"
    assert await answer(world, write(claim, "x", worker="w2")) == "stale"
    await world.worker("w1").commit(done(claim))
    assert await answer(world, write(claim, "after the end")) == "stale"
    assert await lines(world, claim.id) == [(1, "mine")]


async def test_a_run_ahead_makes_the_lines_of_the_step_before_stale(world: Rig) -> None:
    claim = await picked(world)
    hand = world.worker("w1")
    old = claim.lease
    await hand.commit(go(claim, ahead=True))
    assert claim.lease == old + 1
    assert await answer(world, write(claim, "old", lease=old)) == "stale"
    assert await answer(world, write(claim, "new")) == "written"


async def test_a_reap_under_way_makes_a_write_wait_its_turn_and_then_stale(world: Rig) -> None:
    claim = await picked(world)
    await world.let_leases_expire(claim.id)
    async with world.store.transaction() as reaper:
        assert len(await world.store.on(reaper, Query("reap_jobs", (10, None, "reaper", None, [])))) == 1
        assert await answer(world, write(claim, "late")) == "busy"
    assert await answer(world, write(claim, "late")) == "stale"
    (heir,) = await world.worker("w2").pick()
    assert await answer(world, write(heir, "mine", worker="w2")) == "written"
    assert await lines(world, claim.id) == [(1, "mine")]


async def test_a_write_under_way_keeps_the_reap_and_so_a_new_owner_away(world: Rig) -> None:
    claim = await picked(world)
    await world.let_leases_expire(claim.id)
    async with world.store.transaction() as writer:
        assert await answer(world, write(claim, "in time"), writer) == "written"
        assert await world.run("reap_jobs", 10, None, "reaper", None, []) == []
    assert len(await world.run("reap_jobs", 10, None, "reaper", None, [])) == 1
    (heir,) = await world.worker("w2").pick()
    await answer(world, write(heir, "next", worker="w2"))
    assert await lines(world, claim.id) == [(1, "in time"), (2, "next")]


async def test_the_same_lines_sent_again_are_stored_once(world: Rig) -> None:
    claim = await picked(world)
    first, second = write(claim, "a", "b"), write(claim, "c")
    async with world.store.transaction() as lost:
        assert await answer(world, first, lost) == "written"
        assert await answer(world, first) == "busy"  # the first sending is still under way
    assert [await answer(world, each) for each in (first, second, second)] == ["written"] * 3
    assert await lines(world, claim.id) == [(1, "a"), (2, "b"), (3, "c")]


async def test_many_jobs_are_written_at_once_each_with_its_own_answer(world: Rig) -> None:
    for _ in range(4):
        await world.enqueue()
    claims = await world.worker("w1").pick()
    await world.worker("w1").commit(done(claims[1]))
    said = [
        Line(claim.id, claim.lease, "run", 0, "info", f"{claim.id} {n}", None, None, next(_numbers), 0.0)
        for n in range(3)
        for claim in claims
    ]
    async with world.store.transaction() as other:
        await other.execute("select from kairos.gen_durable where id = $1 for update", claims[2].id)
        rows = await world.store.run(write_query("w1", said, timedelta(seconds=30)))
    answers = {row["id"]: row["answer"] for row in rows}
    assert [answers[claim.id] for claim in claims] == ["written", "stale", "busy", "written"]
    assert await lines(world, claims[0].id) == [(n + 1, f"{claims[0].id} {n}") for n in range(3)]
    assert await lines(world, claims[2].id) == []
