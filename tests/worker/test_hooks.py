"""Hooks: code around a worker and around each step, sync or async."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.captured_logs import capture_logs
from tests.worker.world import working

from kairos import Context, Done, Kairos, SyncKairos, step
from kairos.testing import drain


async def test_hooks_run_when_a_worker_starts_and_stops(app: Kairos) -> None:
    said: list[Any] = []

    @app.on_worker_start
    def first(worker: Any) -> None:
        said.append(("start", worker.name))

    @app.on_worker_start
    async def second(worker: Any) -> None:
        await asyncio.sleep(0)
        said.append("start too")

    @app.on_worker_stop
    async def last(worker: Any) -> None:
        said.append("stop")

    async with working(app) as worker:
        assert said == [("start", worker.name), "start too"]
    assert said[2:] == ["stop"]


async def test_a_start_that_fails_keeps_the_worker_from_starting_and_a_stop_that_fails_is_logged(
    app: Kairos,
) -> None:
    @app.on_worker_stop
    def stop(worker: Any) -> None:
        raise RuntimeError("no more")

    with capture_logs() as said:
        async with working(app):
            pass
    assert "a hook failed when the worker stopped" in [line["event"] for line in said]

    @app.on_worker_start
    def start(worker: Any) -> None:
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        async with working(app):
            pass


async def test_each_step_runs_inside_the_hooks_where_it_runs(app: Kairos) -> None:
    said: list[Any] = []

    @app.around_step
    @contextmanager
    def sync(ctx: Context) -> Iterator[None]:
        said.append(("in", ctx.action, threading.current_thread().name.startswith("kairos-step")))
        try:
            yield
        except ValueError as error:
            said.append(("error", str(error)))
            raise
        finally:
            said.append("out")

    @app.around_step
    @asynccontextmanager
    async def on_loop(ctx: Context) -> AsyncIterator[None]:
        said.append(("loop", ctx.step))
        yield

    @app.job
    def threaded() -> None:
        said.append("body")

    @app.job
    async def failing() -> None:
        raise ValueError("out of paper")

    @app.machine("walk")
    class Walk:
        @step
        async def go(self, ctx: Context) -> Done:
            return Done()

    async with app:
        for action in (threaded, failing, Walk):
            await action.enqueue()
            await drain(app)
    assert said == [
        ("loop", "run"),
        ("in", "threaded", True),
        "body",
        "out",
        ("in", "failing", False),
        ("loop", "run"),
        ("error", "out of paper"),
        "out",
        ("in", "walk", False),
        ("loop", "go"),
        "out",
    ]


async def test_what_a_hook_raises_is_the_error_of_the_step(app: Kairos) -> None:
    @app.around_step
    @contextmanager
    def locked(ctx: Context) -> Iterator[None]:
        raise PermissionError("closed")
        yield

    @app.job
    async def work() -> None: ...

    @app.job
    def work_in_thread() -> None: ...

    async with app:
        jobs = [await work.enqueue(), await work_in_thread.enqueue()]
        await drain(app)
        read = [await app.get(job.id) for job in jobs]
    assert {(job.state, job.error) for job in read} == {("failed", "PermissionError: closed")}


async def test_a_hook_that_makes_no_context_manager_is_named(app: Kairos) -> None:
    app.around_step(lambda ctx: None)  # type: ignore[arg-type,return-value]

    @app.job
    async def work() -> None: ...

    async with app:
        job = await work.enqueue()
        await drain(app)
        assert "made a NoneType, which is no context manager" in str((await app.get(job.id)).error)


def test_a_sync_app_has_them_too(kairos_bind: Any) -> None:
    app = kairos_bind(SyncKairos("postgresql://nowhere"))
    said: list[str] = []

    @app.around_step  # type: ignore[untyped-decorator]
    @contextmanager
    def around(ctx: Context) -> Iterator[None]:
        said.append(ctx.action)
        yield

    @app.job  # type: ignore[untyped-decorator]
    def work() -> None: ...

    work.enqueue()
    assert (drain(app), said) == (1, ["work"])


DJANGO = """
import asyncio, os, signal, sys, time
from pathlib import Path
import django
from django.conf import settings
from kairos import Kairos
from kairos.embedded import Server

url, folder, hooked = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "hooked"
server = Server(folder, ephemeral=True)
server.start()
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": "kairos", "USER": "kairos", "HOST": str(folder / "socket"),
    "PORT": "5432", "CONN_MAX_AGE": None,
}})
django.setup()
from django.db import connection

app = Kairos(url)
if hooked:
    from kairos.integrations.django import django_connections
    app.around_step(django_connections)

@app.job
def ask() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select 42")
        return cursor.fetchone()[0]

async def main():
    async with app, app.worker(concurrency=1, poll=0.1):
        async def run():
            job = await ask.enqueue()
            while not (job := await app.get(job.id)).is_terminal:
                await asyncio.sleep(0.02)
            return job.state.value
        print(await run())
        pid = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        while server.is_alive():
            await asyncio.sleep(0.02)
        server.start()
        print(await run(), await run())  # the first one may meet the broken connection
asyncio.run(main())
server.stop()
"""


@pytest.mark.parametrize(("hooked", "after"), [("bare", "failed failed"), ("hooked", "failed success")])
def test_a_django_worker_recovers_from_a_restart_of_its_database(
    database: str, tmp_path: Path, hooked: str, after: str
) -> None:
    from tests.data_directories import temporary_directory

    folder = temporary_directory("kairos-dj-")
    done = subprocess.run(
        [sys.executable, "-c", DJANGO, database, str(folder / "pg"), hooked],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["success", after], done.stderr
