"""Several hosts in one URL: whichever of them answers is used, by everything that connects."""

from __future__ import annotations

import asyncio
from datetime import datetime
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from kairos import Kairos, SyncKairos


@pytest.fixture
def hosts(database: str) -> str:
    """The URL of a database whose first host is gone."""
    place = {name: str(value) for name, value in conninfo_to_dict(database).items()}
    where = f"host=/nowhere,{quote(place['host'])}&port={place['port']},{place['port']}"
    return f"postgresql://{place['user']}@/{place['dbname']}?{where}&target_session_attrs=read-write"


async def test_a_worker_and_its_keeper_and_its_ears_find_the_host_that_lives(hosts: str) -> None:
    go_on = asyncio.Event()
    async with Kairos(hosts) as app, asyncio.timeout(60):

        @app.job
        async def hold() -> int:
            await go_on.wait()
            return 42

        async def lease() -> datetime:
            async with app.store.connection() as connection:
                return await connection.fetchval("select max(lease_expires_at) from kairos.gen_durable")

        async with app.worker(poll=60, lease=1) as worker:
            while not worker.listener.is_receiving:
                await asyncio.sleep(0.01)
            job = await hold.enqueue()
            while (first := await lease()) is None:
                await asyncio.sleep(0.01)
            while await lease() == first:  # the keeper renews it
                await asyncio.sleep(0.01)
            go_on.set()
            assert await app.result(job.id, timeout=50) == 42


def test_the_sync_app_finds_the_host_that_lives(hosts: str) -> None:
    with SyncKairos(hosts) as app:
        assert app.jobs() == []
        assert app.migrate() == []
