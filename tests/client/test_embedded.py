"""Without a URL: the Postgres that ships with Kairos, in a directory that survives it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from tests.client.actions import register
from tests.data_directories import temporary_directory

import kairos.store.async_store
from kairos import Kairos, SyncKairos
from kairos.errors import ConfigError
from kairos.store.async_store import AsyncStore
from kairos.testing import drain


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("KAIROS_DATABASE_URL", raising=False)
    folder = temporary_directory("kairos-f-")
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    yield folder
    monkeypatch.chdir("/")
    shutil.rmtree(folder)


async def test_an_app_without_a_url_brings_its_own_database_and_finds_it_again(folder: Path) -> None:
    app = Kairos(data=folder / "data")
    register(app)
    async with app:
        job = await app.action("echo").enqueue("kept")
        with SyncKairos(data=folder / "data") as beside:
            assert beside.get(job.id).state == "pending"
    with SyncKairos(data=folder / "data") as later:
        assert later.get(job.id).input == {"value": "kept"}
    async with app:
        assert await drain(app) == 1
        assert await app.result(job.id) == "kept"
        assert await app.migrate() == []


def test_its_place_is_a_directory_of_the_project_and_is_found_from_the_folders_below(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SyncKairos(embedded=True) as app:
        assert app.jobs() == []
        assert app.settings.database_url is None
    assert (folder / ".kairos").is_dir()
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    with SyncKairos() as below:
        assert below.jobs() == []
    assert not (folder / "src" / ".kairos").exists()


@pytest.mark.parametrize("app", [Kairos, SyncKairos])
async def test_nothing_makes_a_database_that_nobody_asked_for(
    folder: Path, app: type[Kairos] | type[SyncKairos]
) -> None:
    with pytest.raises(ConfigError, match=r"KAIROS_DATABASE_URL .* `kairos dev`"):
        await made.open() if isinstance(made := app(), Kairos) else made.open()
    assert list(folder.iterdir()) == []


SAYS = """
import sys
from kairos import SyncKairos

with SyncKairos(*sys.argv[1:]) as app:
    print(app.jobs())
with SyncKairos(*sys.argv[1:]) as again:
    pass
"""


def test_a_program_without_logging_says_once_on_standard_error_which_database_it_uses(
    folder: Path, database: str
) -> None:
    (folder / "says.py").write_text(SAYS)
    secret = database.replace("@", ":s3cret@", 1)
    done = subprocess.run(
        [sys.executable, "says.py", secret], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    (line,) = done.stderr.splitlines()
    assert line == f"kairos: database in use url={database.replace('@', ':***@', 1)!r}"


FORKS = """
import os, sys
from kairos import SyncKairos

app = SyncKairos(data="data")

@app.job
def greet(n: int) -> int:
    return n

greet.enqueue(n=1)
for leaves in (lambda: sys.exit(0), lambda: (greet.enqueue(n=2), sys.exit(0)), lambda: (app.close(), sys.exit(0))):
    if (child := os.fork()) == 0:
        leaves()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    greet.enqueue(n=3)
print(sorted(job.input["n"] for job in app.jobs()))
"""


def test_a_fork_that_leaves_does_not_stop_the_server_of_its_parent(folder: Path) -> None:
    (folder / "forks.py").write_text(FORKS)
    done = subprocess.run(
        [sys.executable, "forks.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[1, 2, 3, 3, 3]\n"), done.stderr
    assert not (folder / "data" / "postgres" / "postmaster.pid").exists()


async def test_verbs_that_meet_at_an_app_not_yet_open_open_it_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[AsyncStore] = []

    class Counted(AsyncStore):
        async def open(self) -> None:
            made.append(self)
            await super().open()
            await asyncio.sleep(0)

    monkeypatch.setattr(kairos.store.async_store, "AsyncStore", Counted)
    app = Kairos(data=folder / "data")
    register(app)
    try:
        jobs = await asyncio.gather(*(app.action("echo").enqueue(n) for n in range(8)))
        assert len({job.id for job in jobs}) == 8 and len(set(made)) == 1
    finally:
        await app.close()


async def test_connections_of_your_own_find_the_embedded_database_by_the_apps_url(folder: Path) -> None:
    app = Kairos(embedded=True)
    register(app)
    async with app:
        connection = await asyncpg.connect(app.database_url)
        async with connection.transaction():
            job = await app.on(connection).enqueue(app.action("echo").call("mine"))
        await connection.close()
        assert (await app.get(job.id)).input == {"value": "mine"}


def test_the_url_of_an_app_is_the_one_it_was_given() -> None:
    assert Kairos("postgresql:///shop").database_url == "postgresql:///shop"
