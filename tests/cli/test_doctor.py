"""`kairos doctor`: one word when all is well; else what, why and what to do, and an exit code that means something."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.cli.terminal import Terminal

from kairos import Kairos, SyncKairos
from kairos.alarms.environment_checks import Environment, check
from kairos.embedded import Server
from kairos.store import migrate
from kairos.testing import Clock

WELL = Environment(
    server={
        "fsync": True,
        "full_page_writes": True,
        "synchronous_commit": "on",
        "followed_asynchronously": False,
        "version": 180000,
        "autovacuum": True,
        "track_counts": True,
        "notifications": 0.0,
        "connections": 10,
        "max_connections": 100,
        "clock_replaced": False,
    },
    receives_notifications=True,
    behind_pooler=False,
    skew=timedelta(0),
    has_time_zones=True,
)
FIVE = timedelta(seconds=5)


@pytest.fixture
def safe(home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """The command on a server with safe settings; that of the other tests trades safety for speed."""
    with Server(home / "safe", ephemeral=True) as server:
        kairos = Terminal(capsys, {"KAIROS_DATABASE_URL": server.url()})
        assert kairos("migrate").code == 0
        yield kairos


def test_all_is_quiet_where_nothing_is_wrong() -> None:
    assert check(WELL, FIVE) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"fsync": False}, "FSYNC_OFF"),
        ({"full_page_writes": False}, "FULL_PAGE_WRITES_OFF"),
        ({"followed_asynchronously": True}, "STANDBY_ASYNCHRONOUS"),
        ({"synchronous_commit": "off"}, "SYNCHRONOUS_COMMIT_OFF"),
        ({"version": 149999}, "POSTGRES_TOO_OLD"),
        ({"autovacuum": False}, "AUTOVACUUM_OFF"),
        ({"track_counts": False}, "AUTOVACUUM_OFF"),
        ({"notifications": 0.11}, "NOTIFICATIONS_FULL"),
        ({"connections": 90}, "CONNECTIONS_SPENT"),
        ({"clock_replaced": True}, "CLOCK_REPLACED"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_each_setting_that_endangers_jobs_is_a_problem(change: dict[str, Any], code: str) -> None:
    (problem,) = check(replace(WELL, server={**WELL.server, **change}), FIVE)
    assert problem.code == code
    assert problem.message.endswith(".")
    assert problem.remedy.endswith(".")


@pytest.mark.parametrize("value", ["on", "local", "remote_write", "remote_apply"])
def test_a_commit_that_waits_for_some_disk_is_no_problem(value: str) -> None:
    assert check(replace(WELL, server={**WELL.server, "synchronous_commit": value}), FIVE) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"receives_notifications": False, "behind_pooler": True}, "LISTEN_POOLED"),
        ({"receives_notifications": False}, "LISTEN_DEAF"),
        ({"skew": -FIVE}, "CLOCK"),
        ({"has_time_zones": False}, "NO_TIME_ZONES"),
    ],
    ids=["pooled", "deaf", "clock", "zones"],
)
def test_what_is_wrong_here_is_a_problem(change: dict[str, Any], code: str) -> None:
    assert [problem.code for problem in check(replace(WELL, **change), FIVE)] == [code]


@pytest.mark.parametrize("offset", [-1, 0, 1], ids=["before", "at", "after"])
def test_a_clock_is_a_problem_from_five_seconds_on(offset: int) -> None:
    found = check(replace(WELL, skew=FIVE + timedelta(microseconds=offset)), FIVE)
    assert bool(found) == (offset >= 0)


def test_a_quiet_database_is_one_word_and_exit_code_0(safe: Terminal) -> None:
    said = safe("doctor")
    assert (said.code, said.out) == (0, "Quiet.\n")
    assert safe("doctor", "--json").json == {"quiet": True, "problems": [], "alarms": []}
    with SyncKairos(safe.environment["KAIROS_DATABASE_URL"]) as client:
        client.store.open().execute(
            "insert into kairos.incidents (kind, subject, at, job_id, detail) "
            "values ('jobs_failed', 'mail', now(), 7, 'the post office is closed')"
        )
        said = safe("doctor")
        assert said.code == 1
        assert "✗ error  jobs_failed · since" in said.out
        assert "1 job of mail failed; the last was job 7: the post office is closed." in said.out
        assert "→ Read its log and history (`kairos jobs show 7`)" in said.out
        told = safe("doctor", "--json")
        (alarm,) = json.loads(told.out)["alarms"]
        assert (told.code, alarm["kind"], alarm["count"], alarm["severity"]) == (1, "jobs_failed", 1, "error")
        client.acknowledge(alarm["id"], actor="ann")
        assert safe("doctor").out == "Quiet.\n"


def test_a_server_without_fsync_is_named_with_the_remedy(kairos: Terminal, database: str) -> None:
    said = kairos("doctor")
    assert said.code == 1
    assert "✗ error  FSYNC_OFF" in said.out
    assert "→ Set fsync = on and restart Postgres." in said.out
    with psycopg.connect(database, autocommit=True) as connection:
        (name,) = connection.execute("select current_database()").fetchone() or ("",)
        connection.execute(f"alter database {name} set synchronous_commit = off".encode())
    told = json.loads(kairos("doctor", "--json").out)
    codes = {problem["code"] for problem in told["problems"]}
    assert {"FSYNC_OFF", "FULL_PAGE_WRITES_OFF", "SYNCHRONOUS_COMMIT_OFF"} <= codes
    assert told["quiet"] is False


def test_a_pooler_without_a_direct_url_is_named_where_listen_is_deaf(
    kairos: Terminal, server_url: str, database: str
) -> None:
    """LISTEN on another database hears nothing, as it does behind a pooler."""
    elsewhere = urlsplit(database)._replace(path=urlsplit(server_url).path).geturl()
    kairos.environment["KAIROS_DIRECT_URL"] = elsewhere
    assert "LISTEN_DEAF" in kairos("doctor").out


@pytest.mark.parametrize(
    ("change", "code", "sentence"),
    [
        ("drop schema kairos cascade", 78, "The database has no Kairos schema yet: run `kairos migrate`."),
        (
            f"delete from kairos.migrations where version = {migrate.wanted_version()}",
            78,
            f"needs {migrate.wanted_version()}: run `kairos migrate`.",
        ),
    ],
    ids=["no schema", "an older one"],
)
def test_a_schema_that_does_not_fit_is_named(
    kairos: Terminal, database: str, change: str, code: int, sentence: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(change.encode())
    said = kairos("doctor")
    assert (said.code, sentence in said.out) == (code, True)
    told = kairos("doctor", "--json")
    (problem,) = json.loads(told.out)["problems"]
    assert (told.code, problem["code"]) == (code, "SCHEMA_MISMATCH")


def test_a_database_that_is_not_there_is_named(kairos: Terminal, home: Path) -> None:
    kairos.environment["KAIROS_DATABASE_URL"] = "postgresql://kairos@127.0.0.1:1/none"
    said = kairos("doctor")
    assert (said.code, "✗ error  UNAVAILABLE" in said.out) == (69, True)
    kairos.environment = {}
    said = kairos("doctor", "--data", home / "nothing")
    assert (said.code, "run `kairos dev` here first" in said.out) == (78, True)


def test_thresholds_come_from_the_settings(kairos: Terminal) -> None:
    kairos.environment["KAIROS_ALARM_AFTER"] = "jobs_overdue=never"
    said = kairos("doctor")
    assert (said.code, "alarm_after of jobs_overdue" in said.out) == (78, True)


async def test_a_clock_that_a_test_left_behind_is_named(kairos: Terminal, database: str) -> None:
    async def codes() -> set[str]:
        told = await asyncio.to_thread(kairos, "doctor", "--json")
        return {problem["code"] for problem in json.loads(told.out)["problems"]}

    async with Kairos(database) as app:
        clock = await Clock(app).install()
        assert "CLOCK_REPLACED" in await codes()
        await clock.uninstall()
        assert "CLOCK_REPLACED" not in await codes()
