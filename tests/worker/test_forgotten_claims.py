"""A claim does not wait for the disk, so a crash or failover of Postgres may forget it, and its token comes again."""

from __future__ import annotations

import asyncio

from tests.worker.world import ended, fetch, until, verbs, working

from kairos import Context, Kairos

# As a crash leaves it: the row is again what it was before the claim. No trigger may see that, as none sees a crash.
FORGET = """
begin; set local session_replication_role = replica;
update kairos.gen_durable set status = 'runnable', lease = lease - 1, locked_by = null, lease_expires_at = null,
  picked_at = null, started_at = null where id = {job};
commit
"""
CLAIM_AGAIN = """
update kairos.gen_durable set status = 'executing', lease = lease + 1, locked_by = '{worker}',
  lease_expires_at = kairos.now() + interval '1 second', picked_at = kairos.now(), started_at = kairos.now()
where id = {job}
"""


async def execute(app: Kairos, sql: str) -> None:
    async with app.store.connection() as connection:
        await connection.execute(sql)


async def test_an_outcome_is_not_committed_when_its_log_lines_were_refused(app: Kairos) -> None:
    leases: list[int] = []

    @app.job
    async def run(ctx: Context) -> int:
        leases.append(ctx.lease)
        if len(leases) == 2:
            ctx.log.info("second")
            return 2
        await app.pause("default")  # so that only this test claims the job again
        await execute(app, FORGET.format(job=ctx.id))
        ctx.log.info("first")
        try:
            await until(lambda: worker.log_writer.refused)
        finally:
            await execute(app, CLAIM_AGAIN.format(job=ctx.id, worker=worker.name))
            await app.resume("default")
        return 1

    async with working(app, lease="1s") as worker:
        job = await run.enqueue()
        found = await ended(app, job.id)
        assert found.output == len(leases) == 2
        assert [line.line for line in await app.logs(job.id)] == ["second"]


async def test_a_job_claimed_twice_with_one_token_is_given_back_for_another(app: Kairos) -> None:
    leases: list[int] = []

    @app.job
    async def run(ctx: Context) -> int:
        leases.append(ctx.lease)
        if len(leases) == 1:
            await asyncio.sleep(3600)
        return len(leases)

    async with working(app) as worker:
        job = await run.enqueue()
        await until(lambda: leases)
        await execute(app, FORGET.format(job=job.id))
        worker.picker.pick_soon()
        found = await ended(app, job.id)
        assert found.output == 2
        assert leases == [1, 2]
        assert await verbs(app, job.id) == ["release", "done"]
        (row,) = await fetch(app, "select lease from kairos.gen_durable where id = $1", job.id)
        assert row["lease"] == 2
