"""The batch insert of the engine's specification runs as it is written there."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg

from kairos import Context, Kairos

# Section 10 of the specification, "Batch insert with uniqueness", with rows in place of its (...).
BATCH_INSERT = """
insert into gen_durable
(fsm, step, state, queue, priority, partition_key, unique_key, unique_scope, eligible_at)
values
{rows}
on conflict (unique_guard) where unique_guard is not null
do nothing
returning id;
"""

_LIVE = "'{runnable,executing,awaiting_signal}'"
ROWS = f"""
('work', 'run', '{{"n": 1}}', 'default', 0, null, null, '{{}}', now()),
('work', 'run', '{{"n": 2}}', 'default', 0, 'k', 'once', {_LIVE}, now()),
('work', 'run', '{{"n": 3}}', 'default', 0, 'k', 'once', {_LIVE}, now()),
('work', 'run', '{{"n": 4}}', 'default', 0, 'k', '\\xff', {_LIVE}, now())
"""


async def test_the_batch_insert_of_the_specification_runs_as_written_and_its_jobs_run(database: str) -> None:
    app, ran = Kairos(database), []

    @app.job(name="work")
    async def work(ctx: Context, n: int) -> None:
        ran.append(n)

    async with app:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("set search_path = kairos")
            ids = [row[0] for row in connection.execute(BATCH_INSERT.format(rows=ROWS).encode())]
            again = connection.execute(BATCH_INSERT.format(rows=ROWS).encode()).fetchall()
            connection.execute("set search_path = public")
            shown = connection.execute("select unique_key from kairos.jobs where id = any(%s)", [ids])
            assert {row[0] for row in shown} == {None, "once", "\\377"}
        assert (len(ids), len(again)) == (3, 1), "duplicates are caught in the batch and in the table"
        async with app.worker(poll=0.1):
            for job in [*ids, *(row[0] for row in again)]:
                await app.result(job, timeout=30)
        made = [await app.get(job) for job in ids]
    assert sorted(ran) == [1, 1, 2, 4]
    now = datetime.now(UTC)
    assert all(each.inserted_at is not None and each.inserted_at <= now for each in made)
