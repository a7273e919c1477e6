"""A database whose disk is full, on a small file system of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.data_directories import temporary_directory

from kairos import Kairos
from kairos.cli.doctor import examine
from kairos.config import Settings
from kairos.embedded import Server
from kairos.embedded.account import choose_account
from kairos.errors import DatabaseUnavailable
from kairos.testing.plugin import SETTINGS, with_database


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = temporary_directory("kairos-disk-")
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        account = choose_account()
        shutil.chown(folder, account.uid, account.gid)
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def on_small_disk(small_disk: Path) -> Iterator[str]:
    """The URL of a database whose tables lie on the small disk.

    Its server is its own: while the disk is full no checkpoint succeeds, and `drop database` in other tests needs one.
    """
    with Server(temporary_directory("kairos-full-"), ephemeral=True, settings=SETTINGS) as server:
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute(f"create tablespace small location '{small_disk}'".encode())
            admin.execute("create database on_small_disk tablespace small")
        yield with_database(server.url(), "on_small_disk")


async def test_a_full_disk_is_named_by_doctor_and_by_what_is_refused(on_small_disk, small_disk):
    app = Kairos(on_small_disk)

    @app.job
    async def hello(text: str) -> None: ...

    await app.migrate()
    async with app:
        filler = small_disk / "filler"
        with filler.open("wb") as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        with pytest.raises(DatabaseUnavailable, match="Postgres has no disk space left"):
            for _ in range(1000):
                await hello.enqueue(text="x" * 50_000)
        with pytest.raises(DatabaseUnavailable, match="Postgres has no disk space left"):
            await examine(Settings(database_url=on_small_disk))
        filler.unlink()
        await hello.enqueue(text="there is room again")
