"""What a pick costs does not depend on what waits behind a key, or for later: counted in blocks, not in time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.engine_statements import LEASE, call, done, rig
from tests.shared_database import unguarded

from kairos.operations import insert
from kairos.store.query import statements as sql

SQL = sql("kairos")

# As batches would leave it: a line on hold behind its head, and behind that the heads of other lines.
WORLD = """
insert into kairos.gen_durable (fsm, step, partition_key, held, eligible_at, inserted_at, updated_at)
select 'act', 'run', 'hot', n > 1, now() - interval '1 hour', now(), now() from generate_series(1, {hot}) n;
insert into kairos.gen_durable (fsm, step, priority, partition_key, eligible_at, inserted_at, updated_at)
select 'act', 'run', -5, case when n % 2 = 0 then 'hot' end, now() + interval '30 days', now(), now()
from generate_series(1, {later}) n;
insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)
select 'ended', 'run', now(), now(), now() from generate_series(1, {ended});
update kairos.gen_durable set status = 'cancelled', completed_at = now() where fsm = 'ended';
insert into kairos.gen_durable (fsm, step, partition_key, eligible_at, inserted_at, updated_at)
values ('act', 'run', 'cool', now(), now(), now()), ('act', 'run', null, now(), now(), now());
"""
SMALL = WORLD.format(hot=5, later=2, ended=2)
LARGE = WORLD.format(hot=100_000, later=50_000, ended=20_000)
HEADS = "select min(id), max(id) from kairos.gen_durable where partition_key is not null and priority = 0"
COUNTED = """
select sum(pg_stat_get_xact_blocks_fetched(of.oid))::bigint from (
  select 'kairos.gen_durable'::regclass::oid union
  select indexrelid from pg_index where indrelid = 'kairos.gen_durable'::regclass
) as of (oid)
"""
# A level or two more in each of a few indexes.
DEEPER = 60


def statements(hot: int, cool: int) -> dict[str, tuple[Any, ...]]:
    """What a worker and a client send, with the heads of two keys."""
    return {
        "pick_jobs": ("default", 10, "w1", LEASE, False, None, None),
        "pick_keyed": (["cool", "hot"], [hot, cool], "w1", LEASE, "default"),
        "open_keys": (["cool", "hot"],),
        "insert_jobs": insert([call(key="hot"), call(key="cool"), call()]).params,
        "find_stuck_keys": ("", 200),
        "next_due": (["default"],),
        "next_deadlines": (None,),
    }


def blocks(connection: psycopg.Connection[Any], name: str, params: tuple[Any, ...]) -> int:
    """How many blocks of the table and its indexes a statement looks at; it changes nothing."""
    with connection.transaction(force_rollback=True), psycopg.RawCursor(connection) as cursor:
        before = cursor.execute(COUNTED).fetchone()
        cursor.execute(SQL[name].encode(), params).fetchall()
        after = cursor.execute(COUNTED).fetchone()
    assert before and after
    return int(after[0] - before[0])


@pytest.fixture(scope="module")
def crowd(kept_database: str) -> Iterator[tuple[str, dict[str, int], dict[str, int]]]:
    """A crowded database, and what each statement cost before the crowd came and after."""
    costs = []
    with psycopg.connect(kept_database, autocommit=True) as connection:
        for backlog in (SMALL, LARGE):
            connection.execute(unguarded("truncate kairos.gen_durable restart identity cascade").encode())
            connection.execute(backlog)
            connection.execute("vacuum analyze kairos.gen_durable")
            hot, cool = connection.execute(HEADS).fetchone() or (0, 0)
            costs.append({name: blocks(connection, name, p) for name, p in statements(hot, cool).items()})
        yield kept_database, *costs
        connection.execute(unguarded("truncate kairos.gen_durable restart identity cascade").encode())


@pytest.mark.parametrize("name", statements(0, 0))
def test_no_backlog_makes_a_statement_look_at_more(crowd: Any, name: str) -> None:
    """A hundred thousand on one key, fifty thousand for later and more urgent, twenty thousand that ended."""
    _, before, after = crowd
    assert after[name] <= before[name] + DEEPER


async def test_a_hot_key_keeps_nobody_waiting(crowd: Any) -> None:
    """The first pick claims the heads of all lines, and each commit lets the next of the hot one in."""
    async with rig(crowd[0]) as jobs:
        worker = jobs.worker()
        claims = await worker.pick(room=10)
        assert [claim.key for claim in claims] == [None, "hot", "cool"]
        line = []
        for _ in range(3):
            await worker.commit(*map(done, claims))
            other = await jobs.enqueue(key="other")
            claims = await worker.pick(room=2)
            assert [claim.key for claim in claims] == ["hot", "other"]
            assert claims[1].id == other
            line.append(claims[0].id)
        assert line == [2, 3, 4]
