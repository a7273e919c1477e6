"""Jobs that each have a priority of their own do not make the alarms and the counts of queues slow."""

from __future__ import annotations

import psycopg
import pytest
from tests.store.test_plans import rows_read
from tests.store.test_statements import SQL
from tests.worker.world import fetch

from kairos import Kairos
from kairos.alarms.thresholds import Thresholds
from kairos.operations import alarm_checks, alarms, counts, find_jobs, queue, queues_and_workers
from kairos.shapes.job_filters import Filters
from kairos.worker.alarm_loop import run_checks

JOBS = """
insert into kairos.gen_durable (fsm, fsm_version, step, queue, priority, eligible_at, inserted_at, updated_at)
select 'act', 1, 'run', 'crowded', n - 20000, now() {when}, now(), now() from generate_series(1, {jobs}) n
"""


def jobs(number: int, when: str = "- interval '1 hour'") -> str:
    return JOBS.format(jobs=number, when=when)


@pytest.mark.parametrize("name", ["list_queues", "find_late_queues", "count_jobs", "find_due_jobs"])
def test_far_fewer_jobs_are_read_than_there_are_priorities(database: str, name: str) -> None:
    with psycopg.connect(database, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(jobs(40_000).encode())
        connection.execute("vacuum analyze kairos.gen_durable")
        connection.execute(f"prepare {name} as {SQL[name]}".encode())
        values = {
            "list_queues": [None, 1000, None, None, "30 s", 100],
            "find_late_queues": ["1 min", "1 min", "30 s", 200, 100],
            "count_jobs": [200, *[None] * 9, 200],
            "find_due_jobs": [False, None, None, 200, 50],
        }[name]
        counted = connection.execute(
            "select cardinality(parameter_types) from pg_prepared_statements"
        ).fetchone()
        values = values[: counted[0]]  # type: ignore[index]
        marks = ", ".join(["%s"] * len(values))
        asked = f"explain (analyze, costs off, timing off, summary off) execute {name}({marks})"
        plan = "\n".join(row[0] for row in connection.execute(asked.encode(), values))
    assert rows_read(plan) < 5_000, plan


async def test_jobs_of_more_priorities_than_are_looked_at_are_counted_together(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fetch(app, jobs(30))
    await fetch(app, jobs(12, "+ interval '1 hour'"))
    whole = await app.run(queue("crowded"))
    monkeypatch.setattr(queues_and_workers, "MOST_PRIORITIES", 5)
    crowded = await app.run(queue("crowded"))
    assert (crowded.pending, crowded.scheduled, crowded.at_least) == (30, 12, ())
    assert (whole.pending, whole.scheduled, whole.oldest_at) == (30, 12, crowded.oldest_at)


async def test_jobs_of_more_priorities_than_are_looked_at_are_counted_and_listed(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fetch(app, jobs(30))
    await fetch(app, jobs(12, "+ interval '1 hour'").replace("n - 20000", "n - 10000"))
    whole = await app.run(counts(Filters()))
    assert (whole.states["pending"], whole.states["scheduled"], whole.at_least) == (30, 12, ())
    monkeypatch.setattr(find_jobs, "MAX_GATHERED", 5)
    monkeypatch.setattr(find_jobs, "MAX_SORTED", 5)
    crowded = await app.run(counts(Filters()))
    assert crowded.states["pending"] > 0
    assert crowded.at_least == ("scheduled", "pending")
    for state, number in (("pending", 30), ("scheduled", 12)):
        assert len(await app.jobs(state=state, limit=50)) == number


async def test_where_the_count_ends_early_both_states_may_have_more(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fetch(app, jobs(1_200))
    monkeypatch.setattr(queues_and_workers, "MOST_PRIORITIES", 5)
    monkeypatch.setattr(queues_and_workers, "MOST_COUNTED", 1000)
    crowded = await app.run(queue("crowded"))
    assert (crowded.pending, crowded.scheduled) == (1000, 0)
    assert set(crowded.at_least) == {"pending", "scheduled"}


async def test_a_late_job_of_the_least_urgent_priority_is_an_alarm_behind_many_others(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarm_checks, "MOST_PRIORITIES", 5)
    await fetch(app, jobs(30, "+ interval '1 hour'"))
    await fetch(app, jobs(1).replace("n - 20000", "9"))
    await run_checks(app.store, Thresholds())
    found = {(each.kind, each.subject): each.count for each in await app.run(alarms())}
    assert found["queue_unserved", "crowded"] == 1
