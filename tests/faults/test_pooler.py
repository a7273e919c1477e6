"""Behind a real PgBouncer in transaction mode: every statement may meet another connection."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from tests.captured_logs import capture_logs
from tests.data_directories import temporary_directory

from kairos import Await, Context, Done, Kairos, Next, SyncKairos, step
from kairos.embedded.account import choose_account
from kairos.errors import ConfigError
from kairos.store.connection_settings import Deadlines, own_settings

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
SETTINGS = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr =
listen_port = {listen}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = {ignored}
"""
pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed")


@pytest.fixture(scope="module")
def pooler(kairos_server: str) -> Iterator[str]:
    """The folder of the pooler's socket and its port, as the end of a URL."""
    with _pooler(kairos_server, "extra_float_digits") as place:
        yield place


@pytest.fixture(scope="module")
def tolerant(kairos_server: str) -> Iterator[str]:
    """A pooler that takes every setting of Kairos and heeds none, and knows nothing of prepared statements."""
    stated = own_settings(Deadlines())
    said = subprocess.run([str(PGBOUNCER), "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in said.split()[1].split(".")[:2])
    unprepared = ["max_prepared_statements = 0"] if version >= (1, 21) else []
    with _pooler(kairos_server, ", ".join(["options", *stated]), *unprepared) as place:
        yield place


@contextmanager
def _pooler(kairos_server: str, ignored: str, *more: str) -> Iterator[str]:
    assert PGBOUNCER is not None
    url = urlsplit(kairos_server)
    place = parse_qs(url.query)
    folder = temporary_directory("kairos-pooler-")
    account = choose_account()
    shutil.chown(folder, account.uid, account.gid)
    listen = _free_port()
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        SETTINGS.format(
            host=place["host"][0] if "host" in place else url.hostname,
            port=place["port"][0] if "port" in place else url.port or 5432,
            user=url.username or place.get("user", ["postgres"])[0],
            listen=listen,
            folder=folder,
            ignored=ignored,
        )
        + "\n".join(more)
    )
    said = (folder / "said").open("wb")
    process = subprocess.Popen([*account.prefix, PGBOUNCER, str(settings)], stdout=said, stderr=said)
    try:
        _until_it_listens(folder / f".s.PGSQL.{listen}", process, folder / "said")
        yield f"host={folder}&port={listen}"
    finally:
        process.terminate()
        process.wait()
        said.close()
        shutil.rmtree(folder)


@pytest.fixture
def pooled(pooler: str, database: str) -> str:
    url = urlsplit(database)
    return f"postgresql://{url.username or 'postgres'}@{url.path}?{pooler}"


async def test_jobs_steps_signals_keys_and_children_run_behind_a_pooler(pooled: str, database: str) -> None:
    app = Kairos(pooled, prepare=False, direct_url=database)

    @app.machine("order")
    class Order:
        @step(initial=True, to=["ship"])
        async def charge(self, ctx: Context) -> Next:
            return Next("ship", {**ctx.state, "charged": True})

        @step
        async def ship(self, ctx: Context) -> Await | Done:
            parcel = ctx.take("delivered")
            return Await("delivered") if parcel is None else Done([ctx.state["charged"], parcel.payload])

    @app.job
    async def add(ctx: Context, n: int) -> int:
        async with ctx.transaction() as connection:
            await connection.execute("select 1")
        return n

    async with app, app.worker(concurrency=8, poll=0.2):
        order = await Order.options(unique="order:1").enqueue()
        calls = [add.options(key=f"k{n % 7}").call(n=n) for n in range(60)]
        jobs = await app.enqueue_many(calls)
        assert [await app.result(job.id, timeout=60) for job in jobs] == list(range(60))
        await app.signal("order:1", "delivered", "noon")
        assert await app.result(order.id, timeout=60) == [True, "noon"]


async def test_without_a_direct_url_jobs_are_found_by_polling(pooled: str) -> None:
    app = Kairos(pooled, prepare=False)

    @app.job
    def hello() -> str:
        return "hello"

    async with app, app.worker(poll=0.1):
        assert await app.result((await hello.enqueue()).id, timeout=60) == "hello"


async def test_many_clients_share_the_few_connections_of_a_pooler(pooled: str) -> None:
    app = Kairos(pooled, prepare=False, pool_size=10)

    @app.job
    def hello(n: int) -> int:
        return n

    async with app:
        made = await asyncio.gather(*(hello.enqueue(n=n) for n in range(200)))
        assert len({job.id for job in made}) == 200
        assert len(await app.jobs(limit=1000)) == 200


def test_the_sync_app_works_behind_a_pooler(pooled: str) -> None:
    with SyncKairos(pooled, prepare=False) as app:

        @app.job
        def hello(n: int) -> int:
            return n

        made = [hello.enqueue(n=n) for n in range(12)]  # past psycopg's threshold for preparing
        assert [app.get(job.id).input for job in made] == [{"n": n} for n in range(12)]


async def test_a_pooler_without_prepare_off_is_one_sentence_that_names_the_setting(pooled: str) -> None:
    with pytest.raises(ConfigError, match="set prepare=False"):
        await Kairos(pooled).open()
    with pytest.raises(ConfigError, match="set prepare=False"):
        SyncKairos(pooled).open()


async def test_a_pooler_that_ignores_settings_and_breaks_prepared_statements_is_named_too(
    tolerant: str, database: str
) -> None:
    url = urlsplit(database)
    app = Kairos(f"postgresql://{url.username or 'postgres'}@{url.path}?{tolerant}")

    @app.job
    def hello(n: int) -> int:
        return n

    with pytest.raises(ConfigError, match="set prepare=False"):
        async with app:
            for _ in range(20):
                await asyncio.gather(*(hello.enqueue(n=n) for n in range(10)))


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
async def test_another_isolation_level_behind_a_pooler_is_refused(
    pooled: str, database: str, isolation: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            f"alter database {connection.info.dbname} set default_transaction_isolation = '{isolation}'".encode()
        )
    with pytest.raises(ConfigError, match="'read committed'"):
        await Kairos(pooled, prepare=False).open()
    with pytest.raises(ConfigError, match="'read committed'"):
        SyncKairos(pooled, prepare=False).open()


async def test_a_worker_behind_a_pooler_says_that_commits_do_not_wait_for_the_disk(
    pooled: str, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"alter database {connection.info.dbname} set synchronous_commit = off".encode())
    app = Kairos(pooled, prepare=False)

    @app.job
    def hello() -> str:
        return "hello"

    with capture_logs() as lines:
        async with app, app.worker():
            assert any("synchronous_commit is off behind the pooler" in line["event"] for line in lines)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until_it_listens(path: Path, process: subprocess.Popen[bytes], said: Path) -> None:
    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None, said.read_text()
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"PgBouncer does not listen: {said.read_text()}")
