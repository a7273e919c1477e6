"""Several Kairos processes, one server."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.embedded.processes import FAST, User, postmaster, processes, until, watchdogs

from kairos.embedded import Server, server_watchdog
from kairos.embedded.locks import FileLock
from kairos.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable


def test_two_that_start_at_once_on_an_empty_directory_share_one_server(
    empty: Path, user: Callable[..., User]
) -> None:
    both = [user(empty), user(empty)]
    first, second = (each.url() for each in both)
    assert first == second
    assert sum(process.is_postmaster for process in processes(empty)) == 1
    for each in both:
        with psycopg.connect(first) as connection:
            connection.execute("select 1")
        each.leave()
    assert processes(empty) == []


def test_the_last_to_leave_stops_the_server(data: Path, user: Callable[..., User]) -> None:
    first = user(data)
    first.url()
    server = Server(data)
    server.start()
    before = postmaster(data)
    first.leave()
    assert server.is_alive()
    assert postmaster(data) == before
    server.stop()
    assert processes(data) == []


def test_the_second_goes_on_when_the_first_is_killed(data: Path, user: Callable[..., User]) -> None:
    first = user(data)
    first.url()
    with Server(data) as server, psycopg.connect(server.url()) as connection:
        first.kill()
        assert connection.execute("select 1").fetchone() == (1,)
        assert server.is_alive()
    assert processes(data) == []


def test_a_server_whose_only_user_was_killed_is_taken_over_and_then_stopped(
    data: Path, user: Callable[..., User]
) -> None:
    first = user(data)
    first.url()
    before = postmaster(data)
    first.kill()
    with Server(data) as server:
        assert server.is_alive()
        assert postmaster(data) == before
    assert processes(data) == []


def test_two_servers_in_one_process_count_as_two_users(data: Path) -> None:
    one, other = Server(data, settings=FAST), Server(data, settings=FAST)
    one.start()
    other.start()
    one.stop()
    assert other.is_alive()
    other.stop()
    assert not other.is_alive()


def test_a_stop_and_a_start_that_meet_leave_the_starter_with_a_server(data: Path) -> None:
    for _ in range(10):
        leaving, coming = Server(data, settings=FAST), Server(data, settings=FAST)
        leaving.start()
        threads = [threading.Thread(target=leaving.stop), threading.Thread(target=coming.start)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert coming.is_alive()
        coming.stop()
    assert processes(data) == []


def test_a_start_that_fails_leaves_no_user_behind(data: Path) -> None:
    with pytest.raises(DatabaseUnavailable):
        Server(data, settings={"shared_buffers": "nonsense"}).start()
    with Server(data, settings=FAST):
        pass
    assert processes(data) == []


def test_a_lock_that_is_held_too_long_is_named(tmp_path: Path) -> None:
    held, wanted = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    said = r"Another process has held .*lock for 0 s"
    with held.exclusive(1), pytest.raises(DatabaseUnavailable, match=said), wanted.exclusive(0):
        pytest.fail("two held it at once")


def test_the_server_of_a_watched_process_that_is_killed_is_stopped(
    data: Path, user: Callable[..., User]
) -> None:
    watched = user(data, "watched")
    watched.url()
    assert processes(data) != []
    watched.kill()
    until(lambda: not processes(data))
    with Server(data, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_watched_process_that_is_killed_leaves_the_server_to_those_who_use_it(
    data: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = user(data, "watched")
    watched.url()
    other = user(data)
    with psycopg.connect(other.url()) as connection:
        before = postmaster(data)
        watched.kill()
        monkeypatch.setattr(server_watchdog, "TIMEOUT", 0.5)
        monkeypatch.setattr("sys.argv", ["server_watchdog", str(data)])
        server_watchdog.main()  # as the one that was left behind does, which tries for longer
        assert connection.execute("select 1").fetchone() == (1,)
        assert postmaster(data) == before
    other.kill()
    until(lambda: not processes(data))  # by the one that was left behind: there is nobody else to do it


def test_a_watched_process_that_leaves_in_good_order_leaves_nobody_behind(data: Path) -> None:
    server = Server(data, watched=True, settings=FAST)
    server.start()
    (left,) = watchdogs(data)
    server.stop()
    assert not Path(f"/proc/{left}").exists()
    assert processes(data) == []
