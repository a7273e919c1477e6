"""The life of one server in one data directory."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

import asyncpg
import psycopg
import pytest
from tests.embedded.processes import FAST, processes

from kairos.embedded import Server, cluster, find_binaries
from kairos.embedded.binaries import DEBIAN, SETTING, major_version
from kairos.errors import ConfigError, DatabaseUnavailable

INSTALLATIONS = sorted({find_binaries(), *DEBIAN.glob("*/bin")})


async def test_one_url_serves_both_drivers(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "1")  # a stranger's setting must not lead us away
    monkeypatch.setenv("PGDATABASE", "elsewhere")
    with Server(data, settings=FAST) as server:
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("select current_database(), current_user").fetchone() == (
                "kairos",
                "kairos",
            )
        other = await asyncpg.connect(server.url("postgres"))
        assert await other.fetchval("select current_database()") == "postgres"
        await other.close()


@pytest.mark.parametrize("binaries", INSTALLATIONS, ids=major_version)
def test_what_was_committed_is_there_after_a_restart(
    empty: Path, binaries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, str(binaries))
    with Server(empty) as server, psycopg.connect(server.url()) as connection:
        assert str(connection.info.server_version // 10000) == major_version(binaries)
        connection.execute("create table kept as select 42 as answer")
    assert processes(empty) == []
    with Server(empty) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_text_is_unicode_and_sorts_by_bytes_and_time_is_utc(data: Path) -> None:
    with Server(data, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        shown = connection.execute("select getdatabaseencoding(), 'a' < 'B', current_setting('timezone')")
        assert shown.fetchone() == ("UTF8", False, "UTC")


def test_nothing_listens_on_the_network_and_nobody_else_may_enter_the_socket(data: Path) -> None:
    with Server(data, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)
        assert connection.execute("show max_connections").fetchone() == ("200",)
        assert stat.S_IMODE((data / "socket").stat().st_mode) == 0o700


def test_settings_reach_the_server(data: Path) -> None:
    odd = """it's "odd" $HOME"""
    server = Server(data, settings={**FAST, "event_source": odd})
    with server, psycopg.connect(server.url()) as connection:
        assert connection.execute("show event_source").fetchone() == (odd,)


@pytest.mark.parametrize("name", ["a" * 120, "with space, comma and $HOME", "ünïcode"])
async def test_a_path_that_does_not_do_for_a_socket_still_does_for_data(data: Path, name: str) -> None:
    odd = data.rename(data.parent / name)
    with Server(odd, settings=FAST) as server:
        psycopg.connect(server.url()).close()
        await (await asyncpg.connect(server.url())).close()
        assert Server(odd).url() == server.url()
        place = server.url().split("host=")[1].split("&")[0]
        assert len(f"{place}/.s.PGSQL.5432") <= 107
    assert not Path(place).exists()


def test_a_socket_place_taken_by_somebody_else_is_refused(data: Path) -> None:
    odd = data.rename(data.parent / ("a" * 120))
    server = Server(odd, settings=FAST)
    place = Path(server.url().split("host=")[1].split("&")[0])
    place.symlink_to(data.parent)
    try:
        with pytest.raises(ConfigError, match="belongs to another user"):
            server.start()
    finally:
        place.unlink()


@pytest.mark.skipif(len(INSTALLATIONS) < 2, reason="needs two versions of Postgres on this machine")
def test_a_directory_of_another_major_version_is_refused(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = INSTALLATIONS[0], INSTALLATIONS[-1]
    monkeypatch.setenv(SETTING, str(old))
    with Server(empty, settings=FAST):
        pass
    monkeypatch.setenv(SETTING, str(new))
    said = f"was made by Postgres {major_version(old)}, but {new} is Postgres {major_version(new)}"
    with pytest.raises(ConfigError, match=said):
        Server(empty).start()


def test_a_cluster_without_a_version_is_refused(data: Path) -> None:
    (data / "postgres" / "PG_VERSION").unlink()
    with pytest.raises(ConfigError, match="is not a Postgres cluster"):
        Server(data).start()


def test_a_server_that_cannot_start_shows_the_end_of_its_log(data: Path) -> None:
    server = Server(data, settings={"shared_buffers": "nonsense"})
    with pytest.raises(
        DatabaseUnavailable, match=r'(?s)Its log ends:.*invalid value for parameter "shared_buffers"'
    ):
        server.start()
    assert not server.is_alive()
    with Server(data, settings=FAST) as recovered:
        assert recovered.is_alive()


def test_is_alive_follows_the_server(data: Path) -> None:
    server = Server(data, settings=FAST)
    assert server.log == data.resolve() / "postgres.log"
    assert not server.is_alive()
    server.start()
    assert server.is_alive()
    server.stop()
    assert not server.is_alive()


def test_stop_without_start_and_stop_twice_do_nothing(data: Path) -> None:
    server = Server(data, settings=FAST)
    server.stop()
    server.start()
    server.stop()
    server.stop()
    assert not server.is_alive()


def test_stop_does_not_wait_for_clients(data: Path) -> None:
    server = Server(data, settings=FAST)
    with psycopg.connect(server.start()) as connection:
        connection.execute("select 1")
        server.stop()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")


def test_a_leftover_of_an_interrupted_initdb_is_removed(empty: Path) -> None:
    (empty / "postgres.new-left").mkdir(parents=True)
    with Server(empty, settings=FAST):
        assert sorted(entry.name for entry in empty.iterdir()) == [
            "lock",
            "postgres",
            "postgres.log",
            "socket",
            "users",
        ]


def test_a_log_that_is_full_begins_anew_and_its_end_is_kept(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "LOG_LIMIT", 1000)
    with Server(data, settings=FAST) as server, psycopg.connect(server.url(), autocommit=True) as connection:
        for number in range(50):
            with suppress(psycopg.Error):
                connection.execute(f"select no_such_column_{number}".encode())
        assert server.log.stat().st_size > 1000
        server.trim_log()
        assert server.log.stat().st_size == 0
        kept = server.log.with_name("postgres.log.old").read_text()
        assert (len(kept), "no_such_column_49" in kept) == (1000, True)
        # The server appends, so that it goes on where the log begins now, and not where it was.
        with suppress(psycopg.Error):
            connection.execute("select one_more")
        said = server.log.read_text()
        assert ("one_more" in said, said.startswith("\0")) == (True, False)
        server.log.write_bytes(b"x" * 1001)
        with Server(data):  # whoever joins sees to it too
            assert server.log.stat().st_size < 1000
        server.log.write_bytes(b"x" * 1000)
        server.trim_log()
        assert server.log.stat().st_size == 1000, "one that is not full is left alone"
