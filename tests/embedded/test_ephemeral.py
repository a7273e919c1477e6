"""Servers of tests: they end with the process that started them, and leave nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.embedded.processes import FAST, User, lives, postmaster, until

from kairos.embedded import Server
from kairos.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_it_dies_with_its_parent_and_its_data_goes_too(empty: Path, user: Callable[..., User]) -> None:
    parent = user(empty, "ephemeral")
    with psycopg.connect(parent.url()) as connection:
        connection.execute("select 1")
        pid = postmaster(empty)
        parent.kill()
        until(lambda: not empty.exists())
        until(lambda: not lives(pid))
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")


def test_a_parent_killed_half_way_leaves_nothing(empty: Path, user: Callable[..., User]) -> None:
    parent = user(empty, "ephemeral")
    until(lambda: list(empty.glob("postgres.new-*")))
    parent.kill()
    until(lambda: not empty.exists())


def test_nothing_is_left_after_it_was_stopped(empty: Path) -> None:
    with Server(empty, ephemeral=True, settings=FAST) as server:
        assert server.is_alive()
    assert not empty.exists()
    assert not server.is_alive()


def test_it_can_be_started_again_after_a_stop(empty: Path) -> None:
    server = Server(empty, ephemeral=True, settings=FAST)
    for _ in range(2):
        with server:
            assert server.is_alive()
        assert not empty.exists()


def test_a_directory_that_holds_something_is_refused_because_it_would_be_removed(empty: Path) -> None:
    empty.mkdir()
    (empty / "precious").touch()
    with pytest.raises(ConfigError, match="must be new or empty"):
        Server(empty, ephemeral=True).start()
    assert (empty / "precious").exists()
