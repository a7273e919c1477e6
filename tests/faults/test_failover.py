"""A standby promoted under load: with a synchronous one nothing acknowledged is lost, also if the old primary hangs."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from chaos.network import Network
from chaos.postgres import Cluster
from tests.worker.world import fetch, until

from kairos import Kairos, KairosError, SyncKairos
from kairos.alarms.thresholds import Thresholds
from kairos.cli.doctor import examine
from kairos.config import Settings
from kairos.embedded.binaries import find_binaries
from kairos.worker.alarm_loop import run_checks


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, standby=False)
    try:
        cluster.start()
        SyncKairos(cluster.primary.url()).migrate()
        cluster.add_standby()
        yield cluster
    finally:
        cluster.stop()


def declare(app: Kairos) -> Kairos:
    @app.job
    async def hello(n: int) -> int:
        return n

    return app


@pytest.mark.parametrize("hang", [False, True], ids=["killed", "hung"])
async def test_a_promoted_synchronous_standby_has_every_acknowledged_job_and_work_goes_on(cluster, hang):
    assert cluster.standby is not None
    async with Network(cluster.primary.url(), cluster.standby.url()) as network:
        app = declare(Kairos(network.url))
        async with app, app.worker(poll=0.1, lease=3):
            accepted = [(await app.action("hello").enqueue(n=n)).id for n in range(50)]
            await asyncio.to_thread(cluster.promote, hang=hang)

            async def accepts_again() -> int | None:
                try:
                    return (await app.action("hello").enqueue(n=50)).id
                except KairosError:
                    return None

            # A client waits longer for an answer than a worker, whose jobs are leased.
            async with asyncio.timeout(120):
                while (job := await accepts_again()) is None:
                    await asyncio.sleep(0.05)
            accepted.append(job)
            async with declare(Kairos(cluster.primary.url())) as direct:
                for number, job in enumerate(accepted):
                    assert await direct.result(job, timeout=60) == number
            await asyncio.to_thread(cluster.remove_old_primary)


def _wait_for(names: str, cluster: Cluster) -> None:
    """Set which standbys commits wait for."""
    with psycopg.connect(cluster.primary.url(), autocommit=True) as connection:
        connection.execute(f"alter system set synchronous_standby_names = '{names}'".encode())
        connection.execute("select pg_reload_conf()")


async def _diagnoses(url: str) -> set[str]:
    problems, _ = await examine(Settings(database_url=url))
    return {problem.code for problem in problems}


async def test_an_asynchronous_standby_is_an_alarm_and_a_diagnosis_before_anything_is_lost(cluster):
    at_once = Thresholds.of("standby_asynchronous=0s")
    async with Kairos(cluster.primary.url()) as app:
        await run_checks(app.store, at_once, slow=True)
        assert [alarm.kind for alarm in await app.alarms()] == []
        _wait_for("", cluster)
        await run_checks(app.store, at_once, slow=True)
        (alarm,) = await app.alarms()
        assert (alarm.kind, alarm.subject, alarm.severity) == ("standby_asynchronous", "standbys", "warning")
        assert "a failover to one of them loses the last jobs" in alarm.cause
        assert "STANDBY_ASYNCHRONOUS" in await _diagnoses(cluster.primary.url())
        _wait_for("*", cluster)
        await run_checks(app.store, at_once, slow=True)
        assert await app.alarms() == []


async def test_a_receiver_of_wal_that_nobody_promotes_is_no_asynchronous_standby(cluster, tmp_path):
    _wait_for("", cluster)
    assert cluster.standby is not None
    await asyncio.to_thread(cluster.kill, cluster.standby)
    receive = [str(find_binaries() / "pg_receivewal"), "--dbname", cluster.primary.url(), "-D", str(tmp_path)]
    receiver = subprocess.Popen(receive, stderr=subprocess.DEVNULL)
    try:
        async with Kairos(cluster.primary.url()) as app:

            async def archives() -> bool:
                states = await fetch(app, "select application_name, state from pg_stat_replication")
                return [tuple(row.values()) for row in states] == [("pg_receivewal", "streaming")]

            await until(archives, "pg_receivewal alone")
            await run_checks(app.store, Thresholds.of("standby_asynchronous=0s"), slow=True)
            assert await app.alarms() == []
            assert "STANDBY_ASYNCHRONOUS" not in await _diagnoses(cluster.primary.url())
    finally:
        receiver.kill()
        receiver.wait()


async def test_a_promoted_asynchronous_standby_may_lack_acknowledged_jobs(cluster):
    """The limit that Postgres has, and so Kairos: nothing waited for a standby that had not caught up."""
    _wait_for("", cluster)
    async with declare(Kairos(cluster.primary.url())) as app:
        await app.action("hello").enqueue(n=0)
        with cluster.standby_behind():
            for n in range(1, 20):
                await app.action("hello").enqueue(n=n)
            await asyncio.to_thread(cluster.promote, hang=False)
    async with declare(Kairos(cluster.primary.url())) as app:
        assert len(await app.jobs()) < 20
