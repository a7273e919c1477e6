"""Without a URL: the Postgres that ships with Kairos, in a directory that survives it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.face.actions import register
from tests.places import temporary_directory

from kairos import Kairos, SyncKairos
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


def test_its_place_is_a_directory_of_the_project(folder: Path) -> None:
    with SyncKairos() as app:
        assert app.jobs() == []
        assert app.settings.database_url is None
    assert (folder / ".kairos").is_dir()
