"""Lists from a real streaming standby: they say their age, and come from the primary when the standby does not fit."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
from chaos.postgres import Cluster, execute, processes, title

from kairos import Kairos
from kairos.api import ServiceSettings, build, replica_reads

READS = (
    "/api/jobs",
    "/api/jobs/counts",
    "/api/jobs/{job}/history",
    "/api/errors",
    "/api/stats",
    "/api/stats/series",
    "/api/stats/outcomes?queue=default",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(Path(tmp_path_factory.mktemp("replica")), standby=True)
    try:
        cluster.start()
        # Commits go on while the standby lags, and after it is promoted.
        execute(cluster.primary, "alter system set synchronous_standby_names = ''", "select pg_reload_conf()")
        asyncio.run(migrated(cluster.primary.url()))
        yield cluster
    finally:
        cluster.stop()


async def migrated(url):
    app = Kairos(url)
    await app.migrate()


@asynccontextmanager
async def served(cluster, **settings):
    """The app on the primary, and a client of a service that reads from the standby."""
    app = Kairos(cluster.primary.url())

    @app.job
    async def nothing() -> None: ...

    settings = {"open": True, "replica_url": cluster.standby.url(), **settings}
    service = build(app, ServiceSettings(**settings))
    transport = httpx2.ASGITransport(service)
    async with app, httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        try:
            yield app, nothing, client
        finally:
            await service.close()


async def until(fact, patience=60.0):
    async with asyncio.timeout(patience):
        while not (answer := await fact()):
            await asyncio.sleep(0.05)
    return answer


async def alarms(app):
    async with app.store.connection() as connection:
        rows = await connection.fetch("select detail from kairos.incidents where kind = 'replica_unusable'")
    return [row["detail"] for row in rows]


async def test_reads_from_the_replica_say_their_age_in_the_header_and_the_envelope(cluster):
    async with served(cluster) as (_, nothing, client):
        job = await nothing.enqueue()

        async def there():
            answer = (await client.get("/api/jobs")).json()
            return answer if [each["id"] for each in answer["jobs"]][:1] == [job.id] else None

        answer = await until(there)
        assert 0 <= answer["age"] <= 10
        for path in READS:
            response = await client.get(path.format(job=job.id))
            assert response.status_code == 200, response.text
            assert 0 <= response.json()["age"] <= int(response.headers["Age"]) <= 10, path


async def test_what_decides_is_never_read_from_the_replica(cluster):
    async with served(cluster, replica_url="postgresql://127.0.0.1:9/nobody") as (_, nothing, client):
        job = await nothing.enqueue()
        for path in (f"/api/jobs/{job.id}", "/metrics", "/api/queues", "/api/workers"):
            response = await client.get(path)
            assert response.status_code == 200 and "Age" not in response.headers


@pytest.mark.parametrize(
    ("url", "reason"),
    [("postgresql://127.0.0.1:9/nobody", "does not answer"), ("nonsense", "URL is not understood")],
)
async def test_a_replica_that_cannot_be_reached_leaves_the_reads_to_the_primary_with_an_alarm(
    cluster, url, reason
):
    async with served(cluster, replica_url=url) as (app, nothing, client):
        job = await nothing.enqueue()
        answer = (await client.get("/api/jobs")).json()
        assert answer["jobs"][0]["id"] == job.id and "age" not in answer
        assert any(reason in detail for detail in await alarms(app))


async def test_a_replica_that_lags_is_left_until_it_has_caught_up(cluster):
    async with served(cluster, replica_lag=1.0) as (app, nothing, client):
        await until(lambda: aged(client))
        receivers = [pid for pid in processes(cluster.standby) if "walreceiver" in title(pid)]
        for pid in receivers:
            os.kill(pid, signal.SIGSTOP)
        try:
            job = await nothing.enqueue()

            async def from_primary():
                answer = (await client.get("/api/jobs")).json()
                return None if "age" in answer else answer

            answer = await until(from_primary)
            assert answer["jobs"][0]["id"] == job.id
            assert any("behind the primary" in detail for detail in await alarms(app))
        finally:
            for pid in receivers:
                os.kill(pid, signal.SIGCONT)
        answer = await until(lambda: aged(client))
        assert answer["jobs"][0]["id"] == job.id


async def aged(client):
    answer = (await client.get("/api/jobs")).json()
    return answer if "age" in answer else None


async def test_a_replica_of_a_former_primary_that_is_still_alive_is_not_fresh_however_much_it_has_replayed(
    cluster, monkeypatch
):
    monkeypatch.setattr(replica_reads, "COMPARE_EVERY", 0.1)
    former, left_behind = cluster.primary, cluster.standby
    await asyncio.to_thread(cluster.add_standby)
    promoted = cluster.standby
    try:
        execute(former, "alter system set synchronous_standby_names = ''", "select pg_reload_conf()")
        await asyncio.to_thread(execute, promoted, "select pg_promote(true, 60)")
        execute(former, "create table ahead as select repeat('x', 1000) from generate_series(1, 10000)")
        servers = SimpleNamespace(primary=promoted, standby=left_behind)
        async with served(servers, replica_lag=1.0) as (app, nothing, client):
            job = await nothing.enqueue()
            answer = (await client.get("/api/jobs")).json()
            assert answer["jobs"][0]["id"] == job.id and "age" not in answer
            assert any(
                "follows timeline 1, and the primary is on 2" in detail for detail in await alarms(app)
            )
    finally:
        cluster.kill(promoted)
        promoted.stop()
        cluster.standby = left_behind


async def test_a_replica_that_was_promoted_is_not_read_any_more(cluster, monkeypatch):
    monkeypatch.setattr(replica_reads, "COMPARE_EVERY", 0.1)
    async with served(cluster) as (app, nothing, client):
        await until(lambda: aged(client))
        await asyncio.to_thread(execute, cluster.standby, "select pg_promote(true, 60)")
        job = await nothing.enqueue()  # on the primary alone

        async def from_primary():
            answer = (await client.get("/api/jobs")).json()
            return None if "age" in answer else answer

        answer = await until(from_primary)
        assert answer["jobs"][0]["id"] == job.id
        assert any("promoted" in detail for detail in await alarms(app))
