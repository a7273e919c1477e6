"""A worker killed at every point of a step that writes in `ctx.transaction()`: one row for one success, always."""

from __future__ import annotations

from signal import SIGKILL

import pytest
from tests.worker.world import ended, fetch, until, verbs

HOUR = 3600
BEFORE = ("before the write", "in the block", "after the block", "before the outcome", "before the commit")
AFTER = ("after the commit",)


async def rows(app, jobs):
    """How many rows each job has in the table that its step writes to."""
    found = await fetch(app, "select job, count(*) as n from ledger group by job")
    counts = {row["job"]: row["n"] for row in found}
    return [counts.get(job.id, 0) for job in jobs]


@pytest.fixture
async def ledger(app):
    await fetch(app, "create table ledger (job bigint not null)")


@pytest.mark.parametrize("action", ["write", "write_in_thread"])
async def test_a_worker_killed_at_any_point_leaves_one_row_for_one_success(crew, app, ledger, action):
    told = {}
    for point in (*BEFORE, *AFTER):
        crew.hire(lease=HOUR)
        crew.arm(point)
        job = await app.action(action).enqueue()
        await until(lambda: crew.hands[-1].code is not None, f"death {point}")
        assert crew.hands[-1].code == -SIGKILL
        crew.hire(lease=HOUR)
        assert (await ended(app, job.id)).state == "success"
        told[point] = (await verbs(app, job.id), await rows(app, [job]))
        # It may still be closing this job's connection, and would meet the next failpoint.
        crew.hands[-1].kill()
    assert told == dict.fromkeys(BEFORE, (["reap", "done"], [1])) | dict.fromkeys(AFTER, (["done"], [1]))


async def test_a_row_that_a_dying_commit_still_has_locked_is_handed_back_too(crew, app, ledger):
    """The backend of a killed worker goes on with its statement; only when it wants to answer does it notice."""
    await fetch(app, "create table slow (job bigint)")
    async with app.store.connection() as connection:
        await connection.execute("""
            create function pause_once() returns trigger language plpgsql as $$ begin
              if new.attempt = 0 then perform pg_sleep(0.4); end if;
              return null;
            end $$;
            create trigger pause_once after update on kairos.gen_durable for each row
              when (old.status = 'executing' and new.status = 'done') execute function pause_once();
        """)
    worker = await crew.ready(lease=HOUR)
    job = await app.action("write").enqueue()
    asleep = "select 1 from pg_stat_activity where wait_event = 'PgSleep' and pid <> pg_backend_pid()"
    await until(lambda: fetch(app, asleep), "a commit under way")
    worker.kill()
    await crew.ready(lease=HOUR)
    job = await ended(app, job.id)
    assert (job.state, job.output) == ("success", 1)
    assert await rows(app, [job]) == [1]
    assert await verbs(app, job.id) == ["reap", "done"]


async def test_workers_killed_again_and_again_under_load_leave_one_row_for_each_success(crew, app, ledger):
    jobs = await app.enqueue_many(
        [app.action(name).call() for _ in range(100) for name in ("write", "write_in_thread")]
    )
    counts = "select count(*) filter (where status = 'done') as done from kairos.gen_durable"
    crew.hire(lease=HOUR, concurrency=8)
    for target in (20, 60, 100, 140):
        await until(lambda target=target: _reached(app, counts, target), f"{target} done")
        crew.hands[-1].kill()
        crew.hire(lease=HOUR, concurrency=8)
    await until(lambda: _reached(app, counts, len(jobs)), "all done")
    assert await rows(app, jobs) == [1] * len(jobs)


async def _reached(app, counts, target):
    return (await fetch(app, counts))[0]["done"] >= target
