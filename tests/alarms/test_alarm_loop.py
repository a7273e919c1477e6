"""Workers on watch: what they see and tell of themselves becomes alarms, raised once by any number of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.engine_statements import Rig
from tests.faults.worker_processes import Crew
from tests.worker.world import fetch, reaches, until

from kairos import Kairos
from kairos.alarms.thresholds import Thresholds
from kairos.operations.alarm_checks import CHECKS
from kairos.operations.alarms import alarms, claim
from kairos.shapes.alarm import Alarm
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query, drive
from kairos.worker import alarm_loop
from kairos.worker.alarm_loop import AlarmLoop, run_checks, run_checks_if_due
from kairos.worker.heartbeat import skew

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look again at once."""
    monkeypatch.setattr(alarm_loop, "EVERY", timedelta(milliseconds=50))


async def found(app: Kairos, kind: str) -> list[Alarm]:
    return [alarm for alarm in await app.run(alarms(all=True)) if alarm.kind == kind]


async def checked(app: Kairos, kind: str) -> list[Alarm]:
    await run_checks(app.store, Thresholds())
    return await found(app, kind)


async def test_two_workers_raise_one_alarm_and_clear_it_once(app: Kairos, often: None) -> None:
    @app.job
    async def fail() -> None:
        raise ValueError("no")

    async with app.worker(poll=0.1), app.worker(poll=0.1):
        await reaches(app, (await fail.enqueue()).id, "failed")
        (alarm,) = await until(lambda: found(app, "jobs_failed"), "the alarm")
        await app.acknowledge(alarm.id)

        async def cleared() -> bool:
            return all(each.cleared_at for each in await found(app, "jobs_failed"))

        await until(cleared, "its end")
        await reaches(app, (await fail.enqueue()).id, "failed")
        await until(lambda: _two(app), "another")
        assert sorted(each.count for each in await found(app, "jobs_failed")) == [1, 1]


async def _two(app: Kairos) -> bool:
    return len(await found(app, "jobs_failed")) == 2


async def test_many_watchers_at_once_raise_one_alarm_and_count_each_failure_once(app: Kairos) -> None:
    rig = Rig(app.store)
    for number in range(40):
        await rig.fetch(
            "insert into kairos.incidents (kind, subject, at) values ('jobs_failed', $1, now())",
            f"act {number % 2}",
        )
    await asyncio.gather(*(run_checks(app.store, Thresholds()) for _ in range(8)))
    assert [(each.subject, each.count) for each in await found(app, "jobs_failed")] == [
        ("act 1", 20),
        ("act 0", 20),
    ]


async def test_a_look_waits_for_the_one_before_it_to_be_committed(app: Kairos) -> None:
    """Or both would count from what was there before, and one of the counts be lost."""
    async with app.store.transaction() as connection:
        holder = await connection.fetchval("select pg_backend_pid()")
        await app.store.on(connection, Query("lock_alarm_check"))
        second = asyncio.create_task(run_checks(app.store, Thresholds()))
        await until(lambda: _waits_for(app, holder), "the other to wait")
    assert (await second).raised == []


async def _waits_for(app: Kairos, holder: int) -> bool:
    blocked = "select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))"
    return bool(await fetch(app, blocked, holder))


async def test_of_many_workers_one_looks_and_no_sooner_than_the_others_would_have(app: Kairos) -> None:
    claims = await asyncio.gather(*(drive(claim(), app.store.run) for _ in range(8)))
    assert len([each for each in claims if each is not None]) == 1
    assert await drive(claim(), app.store.run) is None
    assert await drive(claim(timedelta(0)), app.store.run) is not None


@pytest.mark.parametrize("offset", [-1, 0, 1], ids=["before", "at", "after"])
async def test_the_next_look_is_due_fifteen_seconds_after_the_last(watched: Any, offset: int) -> None:
    first = await drive(claim(), watched.store.run)
    assert (first["slow"], first["count"]) == (True, True)
    await watched.at(watched.start + 15 * SECOND + offset * timedelta(microseconds=1))
    assert (await drive(claim(), watched.store.run) is not None) == (offset >= 0)
    await watched.at(watched.start + 60 * SECOND + offset * timedelta(microseconds=1))
    later = await drive(claim(), watched.store.run)
    assert (later["slow"], later["count"]) == (offset >= 0, False)


async def test_however_many_ask_within_five_seconds_one_looks_and_the_others_write_nothing(
    app: Kairos,
) -> None:
    await run_checks_if_due(app.store, Thresholds())
    version = "select xmin::text, xmax::text, ctid::text from kairos.watch"
    (before,) = await fetch(app, version)
    await asyncio.gather(*(run_checks_if_due(app.store, Thresholds()) for _ in range(20)))
    assert await fetch(app, version) == [before]


async def test_a_look_at_a_quiet_database_costs_a_statement_for_each_cheap_check(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    real = AsyncStore.on

    async def counted(store: AsyncStore, connection: Any, query: Query) -> Any:
        sent.append(query.name)
        return await real(store, connection, query)

    await run_checks_if_due(app.store, Thresholds())
    monkeypatch.setattr(AsyncStore, "on", counted)
    await run_checks_if_due(app.store, Thresholds(), timedelta(0))
    cheap = [check.statement for check in CHECKS if not check.slow]
    assert sent == ["claim_alarm_check", "limit_statement_time", *cheap]
    sent.clear()
    assert await AlarmLoop(app.store, Thresholds()).tick() == 15.0
    assert sent == ["claim_alarm_check"]


async def test_a_killed_worker_is_an_alarm(database: str, tmp_path: Path) -> None:
    crew = Crew(database, tmp_path)
    async with crew.app as app:
        try:
            victim = await crew.ready(lease=3600)
            job = await app.action("wait_for").enqueue(name="never")
            await crew.inside(job.id)
            victim.kill()
            await reaches(app, job.id, "pending")
            (alarm,) = await checked(app, "leases_reaped")
            assert (alarm.subject, alarm.count) == ("wait_for", 1)
            assert f"job {job.id}" in alarm.cause
        finally:
            crew.dismiss()


async def test_a_commit_that_is_refused_is_counted_by_its_worker_and_becomes_an_alarm(app: Kairos) -> None:
    go, begun = threading.Event(), threading.Event()

    @app.job
    def wait() -> None:
        begun.set()
        go.wait(60)

    async with app.worker(poll=60, lease=600) as worker:
        job = await wait.enqueue()
        await until(begun.is_set, "its step")
        async with app.store.transaction() as connection:  # and nobody picks it again meanwhile
            await app.store.on(connection, Query("reap_jobs", (10, worker.name, "the test", None, [])))
            await connection.execute("update kairos.gen_durable set eligible_at = now() + interval '1 day'")
        go.set()
        await until(lambda: worker.flusher.stale, "the refusal")
    assert (await app.get(job.id)).state == "scheduled"
    (alarm,) = await checked(app, "commits_stale")  # told at the latest when the worker leaves
    assert (alarm.subject, alarm.count) == (worker.name, 1)


async def test_an_action_that_a_worker_was_given_and_does_not_know_is_an_alarm(app: Kairos) -> None:
    await Rig(app.store).enqueue(action="stranger")
    async with app.worker(poll=0.1) as worker:
        await until(lambda: worker.executor.unknown.names(), "the release")
        worker.heartbeat.wake()
        (alarm,) = await until(lambda: checked(app, "action_unknown"), "the alarm")
    assert alarm.subject == "stranger@1"
    assert worker.name in alarm.cause


async def test_a_worker_knows_whether_it_hears_and_tells(
    database: str, kairos_server: str, app: Kairos
) -> None:
    """LISTEN on another database succeeds and hears nothing, as it does behind a pooler."""
    async with app.worker(name="hears") as worker:
        await until(lambda: worker.listener.is_receiving, "its own voice")
        worker.heartbeat.wake()
        await until(lambda: _deaf(app, worker.name, False), "its word")
    admin = urlsplit(database)._replace(path=urlsplit(kairos_server).path).geturl()
    async with Kairos(database, direct_url=admin) as elsewhere, elsewhere.worker(name="deaf") as worker:
        await until(lambda: worker.listener.is_connected, "its connection")
        worker.heartbeat.wake()
        await until(lambda: _deaf(app, worker.name, True), "its word")
        await fetch(app, "update kairos.workers set deaf_since = now() - interval '30 s'")
        assert [alarm.subject for alarm in await checked(app, "listener_deaf")] == [worker.name]


async def _deaf(app: Kairos, worker: str, deaf: bool) -> bool:
    rows = await fetch(app, "select deaf_since from kairos.workers where id = $1", worker)
    return bool(rows) and (rows[0]["deaf_since"] is not None) == deaf


async def test_a_worker_tells_how_far_its_clock_is_off(app: Kairos, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fast(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(seconds=7)

    monkeypatch.setattr("kairos.worker.heartbeat.datetime", Fast)
    async with app.worker():
        (alarm,) = await until(lambda: checked(app, "clock_skewed"), "the alarm")
    assert "s away from the database's" in alarm.cause


@pytest.mark.parametrize(
    ("began", "ended", "off"),
    [(-1, 1, 0), (0, 0, 0), (-2, 0, 0), (0, 2, 0), (3, 5, 3), (-5, -3, -3)],
    ids=["around", "same", "ends there", "begins there", "fast", "slow"],
)
def test_a_clock_is_off_by_no_more_than_it_must_be(began: int, ended: int, off: int) -> None:
    assert skew(NOW + began * SECOND, NOW + ended * SECOND, NOW) == off * SECOND


async def test_a_schedule_whose_ticks_were_missed_while_nobody_worked_is_an_alarm(app: Kairos) -> None:
    @app.schedule("every hour", name="hourly", catch_up="none")
    @app.job
    async def report() -> None: ...

    await app.synchronise()
    await fetch(
        app,
        "update kairos.schedules set cursor_at = now() - interval '150 min', next_tick_at = now() - interval '2 h'",
    )
    async with app.worker(poll=0.1):
        (alarm,) = await until(lambda: checked(app, "ticks_missed"), "the alarm")
    assert (alarm.subject, alarm.count) in {("hourly", 2), ("hourly", 3)}


async def test_the_watch_goes_on_after_the_database_was_away(app: Kairos, often: None, database: str) -> None:
    async with app.worker(poll=0.1):
        await until(lambda: fetch(app, "select from kairos.watch"), "the first look")
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
            connection.execute(
                "insert into kairos.incidents (kind, subject, at) values ('jobs_failed', 'a', now())"
            )
            raised = "select 1 from kairos.alarms where kind = 'jobs_failed'"
            await until(lambda: connection.execute(raised).fetchone(), "the alarm")


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    async with Kairos(database) as app:
        yield app
