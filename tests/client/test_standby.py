"""`require_standby`: nothing is accepted where a commit waits for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.api.service_process import serving
from tests.data_directories import temporary_directory

from kairos import Kairos, SyncKairos
from kairos.cli.doctor import examine
from kairos.config import Settings
from kairos.embedded import Server
from kairos.errors import NoStandby, StandbyAway
from kairos.store import server_checks
from kairos.testing.plugin import SETTINGS


@pytest.fixture
def postgres() -> Iterator[str]:
    """A migrated server of its own: what it waits for is the same for all of its databases."""
    with Server(temporary_directory("kairos-standby-"), ephemeral=True, settings=SETTINGS) as server:
        SyncKairos(server.url()).migrate()
        yield server.url()


def arrange(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set synchronous_commit = off")  # this session waits for nobody
        for statement in statements:
            connection.execute(statement)


async def opens(url: str) -> list[Any]:
    """What each world says of a server that must have a standby."""
    said: list[Any] = []
    try:
        async with Kairos(url, require_standby=True) as app:
            said.append(await app.jobs())
    except NoStandby as error:
        said.append(error.code)
    try:
        with SyncKairos(url, require_standby=True) as sync_app:
            said.append(sync_app.jobs())
    except NoStandby as error:
        said.append(error.code)
    return said


async def test_a_primary_is_refused_until_its_commits_wait_for_a_standby(postgres: str) -> None:
    assert await opens(postgres) == ["NO_STANDBY"] * 2
    arrange(postgres, "alter system set synchronous_standby_names = 'other'", "select pg_reload_conf()")
    while await opens(postgres) != [[], []]:  # a reload takes a moment
        pass
    # Kairos states synchronous_commit itself, whatever its role carries.
    arrange(postgres, "alter role current_user set synchronous_commit = 'local'")
    assert await opens(postgres) == [[], []]


async def test_nothing_is_done_while_the_standby_is_turned_off(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_checks, "TRUSTED", 0.0)
    arrange(postgres, "alter system set synchronous_standby_names = 'other'", "select pg_reload_conf()")
    while await opens(postgres) != [[], []]:
        pass
    async with Kairos(postgres, require_standby=True) as app:
        assert await app.jobs() == []
        arrange(postgres, "alter system reset synchronous_standby_names", "select pg_reload_conf()")
        while await opens(postgres) == [[], []]:
            pass
        with pytest.raises(NoStandby):
            await app.jobs()
        with pytest.raises(NoStandby):
            await app.store.connect()
        arrange(postgres, "alter system set synchronous_standby_names = 'other'", "select pg_reload_conf()")
        while await opens(postgres) != [[], []]:
            pass
        assert await app.jobs() == []


async def test_a_synchronous_standby_that_is_away_is_named_by_doctor_and_readyz(postgres: str) -> None:
    async with Kairos(postgres) as app, serving(app) as served:
        assert (await served.http.get("/readyz")).status_code == 200
        arrange(postgres, "alter system set synchronous_standby_names = 'other'", "select pg_reload_conf()")
        while (answer := await served.http.get("/readyz")).status_code == 200:  # a reload takes a moment
            pass
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "STANDBY_AWAY"
        with pytest.raises(StandbyAway, match="Commits wait for a synchronous standby that is away"):
            await examine(Settings(database_url=postgres))


async def test_a_commit_that_waits_for_its_standby_is_seen_without_the_right_to_see_standbys(
    postgres: str,
) -> None:
    statements = ("create role plain login", "grant usage on schema kairos to plain")
    arrange(postgres, *statements, "grant all on all tables in schema kairos to plain")
    plain = postgres.replace("postgres@", "plain@").replace("kairos@", "plain@")
    assert plain != postgres
    arrange(postgres, "alter system set synchronous_standby_names = 'other'", "select pg_reload_conf()")
    async with Kairos(plain) as app:
        waiting = asyncio.create_task(app.pause("mail"))
        try:
            async with asyncio.timeout(30):
                while True:
                    try:
                        await app.store.check_commits()
                    except StandbyAway:
                        break
                    await asyncio.sleep(0.05)
        finally:
            waiting.cancel()
            arrange(postgres, "alter system reset synchronous_standby_names", "select pg_reload_conf()")
            await asyncio.gather(waiting, return_exceptions=True)
