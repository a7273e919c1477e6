"""A transaction that stays open keeps every dead row alive: the work goes on, and an alarm names the transaction."""

from __future__ import annotations

import asyncpg
from tests.worker.world import until, working

from kairos import Kairos
from kairos.alarms.thresholds import Thresholds
from kairos.worker.alarm_loop import run_checks

JOBS = 2000


async def test_under_an_old_snapshot_the_work_goes_on_and_an_alarm_names_the_transaction(database):
    app = Kairos(database)

    @app.job
    async def work() -> None: ...

    client = await asyncpg.connect(database, server_settings={"application_name": "a report"})
    async with working(app) as worker, client.transaction(isolation="repeatable_read"):
        await client.fetchval("select count(*) from kairos.gen_durable")
        for _ in range(JOBS // 500):
            await app.enqueue_many([work.call() for _ in range(500)])
        await until(lambda: worker.flusher.committed == JOBS, "the end of all jobs")
        await run_checks(app.store, Thresholds.of("transaction_open=0s"), slow=True)
        assert "transaction_open" in {alarm.kind for alarm in await app.alarms()}
    await client.close()
