"""A server or a network that hangs instead of failing: nothing waits for it for long."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from signal import SIGSTOP, SIGTERM
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.engine_statements import Hand
from tests.faults.proxy import Proxy
from tests.faults.worker_processes import Crew
from tests.worker.world import ended, fetch, until, verbs

from kairos import Kairos, SyncKairos
from kairos.errors import DatabaseUnavailable
from kairos.store import answer_watch, connection_settings
from kairos.store.connection_settings import Deadlines
from kairos.store.hosts import Hosts
from kairos.worker import lease_watch
from kairos.worker.keeper import Keeper
from kairos.worker.keeper_process import KeeperProcess
from kairos.worker.leases import Leases


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a listener that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def url_of(database: str, *ports: int) -> str:
    """The database behind several hosts, told apart by their ports."""
    place = conninfo_to_dict(database)
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://{place['user']}@{hosts}/{place['dbname']}?sslmode=disable"


async def test_a_keeper_whose_query_gets_no_answer_reconnects_and_no_lease_is_lost(proxy, direct):
    through = Kairos(proxy.url)
    begun, go_on = asyncio.Event(), asyncio.Event()
    for app in (direct, through):

        @app.job
        async def hold() -> int:
            begun.set()
            await go_on.wait()
            return 42

    async def lease() -> Any:
        return (await fetch(direct, "select max(lease_expires_at) as at from kairos.gen_durable"))[0]["at"]

    async with through, through.worker():
        job = await direct.action("hold").enqueue()
        await begun.wait()
        for _ in range(3):
            last = await lease()

            async def is_renewed(last: Any = last) -> bool:
                return await lease() != last

            await until(is_renewed)
            proxy.mute()
        go_on.set()
        assert (await ended(direct, job.id)).output == 42
        assert await verbs(direct, job.id) == ["done"]


async def test_a_step_is_stopped_once_its_lease_was_not_renewed_for_long(proxy, direct, monkeypatch):
    monkeypatch.setattr(lease_watch, "LOST_AFTER_SECONDS", 2.0)
    through = Kairos(proxy.url)
    begun, stopped = asyncio.Event(), asyncio.Event()
    for app in (direct, through):

        @app.job
        async def hold() -> None:
            begun.set()
            try:
                await asyncio.sleep(3600)
            finally:
                stopped.set()

    async with through, through.worker(lease=1, grace=0):
        await direct.action("hold").enqueue()
        await begun.wait()
        proxy.blackhole = True
        await until(stopped.is_set, "the end of the step")
        proxy.blackhole = False
        proxy.cut()


async def test_a_keeper_that_is_frozen_is_replaced_before_a_lease_is_over(crew, app):
    worker = await crew.ready(lease=15)
    job = await app.enqueue(crew.app.action("sleep").call(seconds=3600))
    await crew.inside(job.id)
    frozen = worker.keepers()
    for keeper in frozen:
        os.kill(keeper, SIGSTOP)

    async def leased_until() -> Any:
        (row,) = await fetch(app, "select lease_expires_at from kairos.gen_durable where id = $1", job.id)
        return row["lease_expires_at"]

    last = await leased_until()

    async def is_renewed() -> bool:
        return await leased_until() not in {last, None}

    await until(is_renewed, "a renewal by another keeper")
    assert not set(frozen) & set(worker.keepers())
    assert await verbs(app, job.id) == []


async def test_a_keeper_hands_back_after_an_outage_that_was_longer_than_the_lease(proxy, direct):
    """Nobody could reap the jobs meanwhile, and after an outage others first extend all leases."""

    @direct.job
    async def run() -> None: ...

    job = await run.enqueue()
    leases = Leases(4)
    (claim,) = await Hand(direct.store, "gone").pick()
    leases.hold(claim)
    leases.begin(claim)
    async with Kairos(proxy.url) as app:
        process = KeeperProcess(app.store, "gone", leases, 0.3, lambda _: None, lambda _: None)
        proxy.refuse = True
        proxy.cut()
        began = time.monotonic()
        handing_back = asyncio.create_task(asyncio.to_thread(Keeper(process.config).hand_back))
        await until(lambda: proxy.refused and time.monotonic() > began + 1, "an outage beyond the lease")
        proxy.refuse = False
        await until(lambda: _reaped(direct, job.id), "the hand-back")
        await handing_back
    leases.close()


async def _reaped(app: Kairos, job: int) -> bool:
    return await verbs(app, job) == ["reap"]


async def test_a_keeper_that_is_frozen_does_not_keep_its_worker_from_leaving(crew, app):
    worker = await crew.ready(grace=1)
    for keeper in worker.keepers():
        os.kill(keeper, SIGSTOP)
    worker.signal(SIGTERM)
    await until(lambda: worker.code is not None, "the end of the worker")
    assert worker.code == 0


async def test_a_worker_leaves_within_bounds_although_its_database_hangs(proxy, direct, tmp_path):
    crew = Crew(proxy.url, tmp_path)
    try:
        worker = await crew.ready(grace=1, lease=2)
        job = await direct.enqueue(crew.app.action("sleep").call(seconds=3600))
        await crew.inside(job.id)
        proxy.blackhole = True
        worker.signal(SIGTERM)
        await until(lambda: worker.code is not None, "the end of the worker")
    finally:
        crew.dismiss()


async def test_work_goes_on_at_the_next_host_when_the_first_hangs(database, direct):
    async with Proxy(database) as old, Proxy(database) as new:
        through = Kairos(url_of(database, old.port, new.port))
        for app in (direct, through):

            @app.job
            async def hello(n: int) -> int:
                return n

        async with through, through.worker(poll=0.1):
            assert await direct.result((await direct.action("hello").enqueue(n=1)).id, timeout=30) == 1
            old.blackhole = True  # what was the primary answers no more, on old connections and on new ones
            job = await direct.action("hello").enqueue(n=2)
            assert await direct.result(job.id, timeout=30) == 2
            assert await until(lambda: _enqueued(through, 3)) == 3


async def _enqueued(app: Kairos, n: int) -> Any:
    return await app.result((await app.action("hello").enqueue(n=n)).id, timeout=30)


# Less than a client waits for the answer to a long statement.
_SOON = connection_settings.STATEMENT_TIMEOUT * 0.75


def test_a_client_gives_a_hanging_server_up_long_before_its_statement_timeout():
    """The tests below shorten the first of these waits."""
    assert answer_watch.SILENCE + answer_watch.TRIES * Deadlines().connect < _SOON / 2


@pytest.fixture
def soon_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_watch, "SILENCE", 0.5)


async def test_a_client_whose_server_hangs_is_told_so_and_goes_on_at_the_next_host(database, soon_watched):
    async with Proxy(database) as old, Proxy(database) as new:
        app = Kairos(url_of(database, old.port, new.port))

        @app.job
        async def hello(n: int) -> int:
            return n

        async with app:
            await hello.enqueue(n=1)
            old.blackhole = True
            async with asyncio.timeout(_SOON):
                with pytest.raises(DatabaseUnavailable, match="did not answer in time"):
                    await hello.enqueue(n=2)
                assert (await hello.enqueue(n=3)).id


async def test_a_sync_client_whose_server_hangs_is_told_so_and_goes_on_at_the_next_host(
    database, soon_watched
):
    async with Proxy(database) as old, Proxy(database) as new:
        app = SyncKairos(url_of(database, old.port, new.port))

        @app.job
        def hello(n: int) -> int:
            return n

        def ask(n: int) -> int:
            return hello.enqueue(n=n).id

        # The proxies need this event loop: nothing may block it.
        await asyncio.to_thread(app.__enter__)
        await asyncio.to_thread(ask, 1)
        old.blackhole = True
        async with asyncio.timeout(_SOON):
            with pytest.raises(DatabaseUnavailable, match="did not answer in time"):
                await asyncio.to_thread(ask, 2)
            assert await asyncio.to_thread(ask, 3)
        await asyncio.to_thread(app.close)


@pytest.mark.parametrize("kind", [Kairos, SyncKairos])
async def test_a_statement_that_takes_long_is_waited_for_while_its_server_answers_others(
    database, kind, monkeypatch
):
    monkeypatch.setattr(answer_watch, "SILENCE", 0.2)
    async with Kairos(database) as app:
        if kind is Kairos:
            async with app.store.connection() as connection:
                assert await connection.fetchval("select 1 from pg_sleep(2)") == 1
            return

    def wait() -> object:
        with SyncKairos(database) as blocking:
            return blocking.store.open().execute("select 1 from pg_sleep(2)").fetchone()

    assert await asyncio.to_thread(wait) == (1,)


async def test_a_silent_first_host_is_passed_over_by_everything_that_connects(database, proxy, silent):
    url = url_of(database, silent, proxy.port)
    app = Kairos(url)
    go_on = asyncio.Event()

    @app.job
    async def hold() -> int:
        await go_on.wait()
        return 42

    @app.job
    async def write(ctx) -> int:
        async with ctx.transaction() as connection:
            return await connection.fetchval("select 1")

    async def leases() -> Any:
        return {
            row["at"] for row in await fetch(app, "select lease_expires_at as at from kairos.gen_durable")
        }

    async with app, app.worker(lease=5) as worker:
        await until(lambda: worker.listener.is_receiving)
        job = await hold.enqueue()
        first = await until(lambda: _some(leases))

        async def renewed() -> bool:
            return await leases() != first

        await until(renewed)
        go_on.set()
        assert await app.result(job.id, timeout=30) == 42
        assert await app.result((await write.enqueue()).id, timeout=30) == 1
    await asyncio.to_thread(_ask_sync, url)


@pytest.fixture
def endless_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting to a host that does not answer takes longer than any test."""
    monkeypatch.setattr(Deadlines, "connect", 3600.0)


async def test_the_next_host_is_asked_while_the_first_is_still_silent(
    database, proxy, silent, endless_connect
):
    async with asyncio.timeout(60), Kairos(url_of(database, silent, proxy.port)) as app:
        assert await app.jobs() == []


async def test_a_standby_that_is_promoted_while_the_old_primary_is_silent_is_asked_again(
    database, proxy, silent, endless_connect
):
    proxy.refuse = True
    async with asyncio.timeout(60):
        opening = asyncio.create_task(Kairos(url_of(database, silent, proxy.port)).__aenter__())
        await until(lambda: proxy.refused, "the first refusal")
        proxy.refuse = False
        app = await opening
        assert await app.jobs() == []
        await app.close()


async def test_connecting_ends_as_soon_as_every_host_has_refused(database, proxy, endless_connect):
    proxy.refuse = True
    with pytest.raises(DatabaseUnavailable):
        await Kairos(url_of(database, proxy.port, proxy.port)).__aenter__()


async def _some(leases: Any) -> Any:
    return (await leases()) - {None}


def _ask_sync(url: str) -> None:
    with SyncKairos(url) as app:
        assert len(app.jobs()) == 2
        assert app.migrate() == []


def test_of_several_hosts_the_primary_is_wanted_and_the_one_that_answered_comes_first():
    hosts = Hosts("postgresql://me@a,b:6432,c/db")
    assert [(each["host"], each["port"]) for each in hosts.candidates()] == [
        ("a", 5432),
        ("b", 6432),
        ("c", 5432),
    ]
    assert {each["target_session_attrs"] for each in hosts.candidates()} == {"primary"}
    hosts.prefer(hosts.candidates()[1])
    assert [each["host"] for each in hosts.candidates()] == ["b", "a", "c"]
    assert Hosts("postgresql://me@a/db").candidates() == [{}]
    chosen = Hosts("postgresql://me@a,b/db?target_session_attrs=read-write").candidates()
    assert {each["target_session_attrs"] for each in chosen} == {"read-write"}
