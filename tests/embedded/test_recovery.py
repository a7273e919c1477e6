"""What kill -9 leaves behind, and how the next start deals with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.embedded.processes import FAST, User, kill_postgres, postmaster, processes, until

from kairos.embedded import Server, cluster
from kairos.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_what_was_committed_survives_kill_9_of_postgres(data: Path) -> None:
    server = Server(data)
    connection = psycopg.connect(server.start())
    connection.execute("create table kept as select 42 as answer")
    connection.commit()
    connection.execute("create table lost as select 1")
    kill_postgres(data)
    connection.close()
    with server, psycopg.connect(server.url()) as connection:
        found = connection.execute("select answer, to_regclass('lost') from kept")
        assert found.fetchone() == (42, None)


def test_start_again_brings_back_a_server_that_died_under_its_user(data: Path) -> None:
    with Server(data, settings=FAST) as server:
        kill_postgres(data)
        until(lambda: not server.is_alive())
        server.start()
        assert server.is_alive()
    assert processes(data) == []


def test_a_dead_server_is_brought_back_while_two_share_it(data: Path, user: Callable[..., User]) -> None:
    other = user(data)
    other.url()
    server = Server(data)
    server.start()
    kill_postgres(data)
    server.start()
    server.stop()
    assert server.is_alive(), "the other still uses it"
    other.leave()
    assert processes(data) == []


def test_a_pid_file_whose_pid_belongs_to_a_stranger_does_not_stop_a_start(data: Path) -> None:
    with Server(data, settings=FAST) as server:
        kill_postgres(data)
        until(lambda: not processes(data))
        stranger = subprocess.Popen(["sleep", "600"])
        try:
            for left in (data / "postgres" / "postmaster.pid", data / "socket" / ".s.PGSQL.5432.lock"):
                lines = left.read_text().splitlines(keepends=True)
                left.write_text("".join([f"{stranger.pid}\n", *lines[1:]]))
            server.start()
            assert server.is_alive()
            assert stranger.poll() is None, "the stranger must not be touched"
        finally:
            stranger.kill()
            stranger.wait()


def test_a_pid_file_full_of_garbage_does_not_stop_a_start(data: Path) -> None:
    (data / "postgres" / "postmaster.pid").write_bytes(b"\x00garbage")
    with Server(data, settings=FAST) as server:
        assert server.is_alive()


def test_a_backend_that_outlived_its_postmaster_is_ended_before_the_next_start(data: Path) -> None:
    with Server(data, settings=FAST) as server:
        # A busy backend does not look whether its postmaster lives, and would write beside the next server.
        busy = threading.Thread(target=_count_for_ever, args=(server.url(),))
        busy.start()
        with psycopg.connect(server.url(), autocommit=True) as connection:
            counting = (
                "select pid from pg_stat_activity where query like 'select count%' and state = 'active'"
            )
            until(lambda: connection.execute(counting).fetchone())
            (orphan,) = connection.execute(counting).fetchone() or pytest.fail("it does not count")
        kill_postgres(data)
        until(lambda: [process.pid for process in processes(data)] == [orphan])
        server.start()
        busy.join()
        assert server.is_alive()
        assert orphan not in [process.pid for process in processes(data)]


@pytest.mark.parametrize(
    "sight", ["postgres.new-*", "postgres", "postgres/postmaster.pid", "socket/.s.PGSQL.*"]
)
def test_a_start_killed_half_way_does_not_stop_the_next(
    empty: Path, user: Callable[..., User], sight: str
) -> None:
    half = user(empty)
    until(lambda: list(empty.glob(sight)))
    half.kill()
    with Server(empty, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert processes(empty) == []
    assert list(empty.glob("postgres.new-*")) == []


def test_many_kills_in_a_row_lose_nothing(data: Path) -> None:
    server = Server(data)
    with psycopg.connect(server.start()) as connection:
        connection.execute("create table counted (n int primary key)")
    for number in range(5):
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("insert into counted values (%s)", [number])
            kill_postgres(data)
        server.start()
    with server, psycopg.connect(server.url()) as connection:
        assert connection.execute("select count(*) from counted").fetchone() == (5,)


def test_a_frozen_server_is_named_instead_of_waited_for(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(data, settings=FAST):
        monkeypatch.setattr(cluster, "TIMEOUT", 0.2)
        pid = postmaster(data)
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(DatabaseUnavailable, match=f"pid {pid}.* accepts no connections"):
                Server(data).start()
        finally:
            os.kill(pid, signal.SIGCONT)
            monkeypatch.undo()


def test_a_server_that_ignores_a_polite_stop_is_stopped_harder(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "KILL_AFTER", 0.2)
    server = Server(data, settings=FAST)
    server.start()
    children = [process.pid for process in processes(data) if not process.is_postmaster]
    # A postmaster waits for its children; SIGQUIT makes it kill the ones that do not answer after 5 s.
    os.kill(children[0], signal.SIGSTOP)
    server.stop()
    assert processes(data) == []


def test_a_server_that_does_not_end_at_all_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(data, settings=FAST)
    server.start()
    pid = postmaster(data)
    monkeypatch.setattr(cluster, "TIMEOUT", 0.2)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseUnavailable, match=f"does not stop .*{pid}"):
            server.stop()
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: not processes(data))


def _count_for_ever(url: str) -> None:
    with suppress(psycopg.OperationalError), psycopg.connect(url, autocommit=True) as connection:
        connection.execute("select count(*) from generate_series(1, 1000000000000) as n where n < 0")
