"""The next deadlines are read without walking over the leases that have ended, and no lease is missed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from tests.engine_statements import Rig

from kairos.store.query import Query

INSERT = """
insert into kairos.gen_durable (fsm, step, queue, eligible_at, inserted_at, updated_at)
select 'act', 'run', 'default', now(), now(), now() from generate_series(1, $1)
"""
_SOON = timedelta(microseconds=1)


async def blocks(jobs: Rig, since: datetime | None) -> int:
    explain = (
        f"explain (analyze, buffers, costs off, timing off, format json) {jobs.store.sql['next_deadlines']}"
    )
    async with jobs.store.connection() as connection:
        plan = json.loads(await connection.fetchval(explain, since))[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def look(jobs: Rig, since: datetime | None) -> dict[str, Any]:
    (row,) = await jobs.store.run(Query("next_deadlines", (since,)))
    return dict(row)


async def test_leases_that_ended_under_a_snapshot_that_stays_open_are_not_read_again(jobs, database):
    snapshot = await asyncpg.connect(database)
    try:
        await snapshot.execute(
            "begin isolation level repeatable read; select count(*) from kairos.gen_durable"
        )
        await jobs.fetch(INSERT, 2000)
        ended = timedelta(hours=-1)
        while rows := await jobs.run("pick_jobs", "default", 500, "w1", ended, False, None, None):
            ids, leases = ("{" + ",".join(str(row[name]) for row in rows) + "}" for name in ("id", "lease"))
            nothing = "{" + ",".join(["null"] * len(rows)) + "}"
            await jobs.run("finish_jobs", ids, leases, nothing, "w1", "1s")
        await blocks(jobs, None)  # the first on a connection also reads the catalogue
        assert await blocks(jobs, datetime.now(UTC)) + 50 < await blocks(jobs, None)
    finally:
        await snapshot.close()


@pytest.mark.parametrize(("beyond", "seen"), [(-_SOON, True), (timedelta(0), True), (_SOON, False)])
async def test_a_lease_that_ends_at_the_bound_is_seen(jobs, beyond, seen):
    await jobs.enqueue()
    await jobs.worker().pick()
    (row,) = await jobs.fetch(
        "update kairos.gen_durable set lease_expires_at = now() - interval '1 s' returning lease_expires_at"
    )
    assert ((await look(jobs, row["lease_expires_at"] + beyond))["reap"] is not None) == seen


async def test_the_next_look_begins_at_the_first_lease_or_now(jobs):
    nothing = await look(jobs, None)
    await jobs.enqueue()
    await jobs.worker().pick()
    held = await look(jobs, None)
    assert nothing["leases_from"] < held["leases_from"] <= datetime.now(UTC)
    (row,) = await jobs.fetch(
        "update kairos.gen_durable set lease_expires_at = now() - interval '1 s' returning lease_expires_at"
    )
    assert (await look(jobs, nothing["leases_from"] - timedelta(minutes=1)))["leases_from"] == row[
        "lease_expires_at"
    ]


async def test_all_leases_are_read_when_the_clock_was_set_back(jobs):
    await jobs.enqueue()
    await jobs.worker().pick()
    assert (await look(jobs, datetime.now(UTC) + timedelta(minutes=2)))["reap"] is not None
