"""How commands fail: one sentence on standard error, an exit code that means something, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest
from tests.cli.terminal import KAIROS, Terminal

if TYPE_CHECKING:
    from kairos import SyncKairos

NOBODY = "postgresql://kairos:topsecret@127.0.0.1:1/kairos"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("jobs", "show", "1"), 66, "There is no job 1."),
        (("jobs", "show", "99999999999999999999"), 66, "There is no job 99999999999999999999."),
        (("jobs", "show", "0"), 66, "There is no job 0."),
        (("jobs", "cancel", "1"), 66, "There is no job 1."),
        (("jobs", "retry", "1"), 66, "There is no job 1."),
        (("jobs", "run-now", "1"), 66, "There is no job 1."),
        (("jobs", "wait", "1"), 66, "There is no job 1."),
        (("signal", "1", "paid"), 66, "There is no live job 1 to send 'paid' to."),
        (("signal", "order:1", "paid"), 66, "There is no live job 'order:1' to send 'paid' to."),
        (("signal", "1", ""), 64, "name is ''; it must be text"),
        (("signal", "1", "paid", "{"), 64, "payload is not valid JSON"),
        (("signal", "1", "paid", "NaN"), 64, "payload is nan, which JSON has no number for."),
        (("jobs", "show", "one"), 64, "Invalid value for 'ID': it must be a whole number."),
        (("jobs", "ls", "--state", "asleep"), 64, "'asleep' is not one of 'scheduled'"),
        (("jobs", "ls", "--limit", "0"), 64, "limit is 0; it must be a whole number from 1 to 10000."),
        (("jobs", "ls", "--before", "-1"), 64, "before is -1"),
        (("jobs", "ls", "--colour"), 64, "No such option"),
        (
            ("alarms",),
            64,
            "kairos alarms needs a command: ls, show, acknowledge. Try `kairos alarms --help`.",
        ),
        (("jump",), 64, "No such command 'jump'. Try `kairos --help`."),
        (("jobs", "ls", "--queue", "\udcff"), 64, "is not text: an argument must be valid UTF-8."),
        (("queues", "pause", ""), 64, "queue is ''; it must be text"),
        (("queues", "limit", "q"), 64, "Give the limits to set, or --none to lift them all."),
        (("queues", "limit", "q", "--none", "--concurrency", "1"), 64, "Give the limits to set, or --none"),
        (("queues", "limit", "q", "--concurrency", "0"), 64, "concurrency is 0; it must be"),
        (("queues", "limit", "q", "--rate", "many"), 64, "--rate is 'many'; write how many in how long"),
        (("queues", "limit", "q", "--rate", "5/never"), 64, "rate is '1never'; write"),
        (("queues", "limit", "q", "--rate", "0/1s"), 64, "rate is 0; it must be"),
        (("jobs", "ls", "--database-url", NOBODY), 69, "Postgres cannot be reached: "),
        (("jobs", "ls", "--database-url", "mysql://x"), 78, "The database URL is not understood"),
        (
            ("jobs", "ls", "--database-url", "postgresql://u:p@[bad/x"),
            78,
            "The database URL is not understood",
        ),
        (
            ("jobs", "ls", "--database-url", NOBODY, "--data", "x"),
            78,
            "name two databases: give one of them.",
        ),
        (
            ("jobs", "ls", "--data", "elsewhere"),
            78,
            "names its own database, so --data would have no effect.",
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence_with_its_exit_code(
    kairos: Terminal, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    said = kairos(*arguments)
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("kairos: ") and sentence in said.err and said.err.count("\n") == 1
    assert "topsecret" not in said.err


def test_a_transition_that_the_lifecycle_refuses_names_what_is_allowed(kairos: Terminal, shop: Path) -> None:
    kairos("enqueue", shop, "greet", "name=x")
    assert kairos("jobs", "run-now", 1).err == (
        "kairos: Job 1 is pending and cannot be brought forward; allowed now: edit, snooze, signal, cancel.\n"
    )
    assert kairos("jobs", "retry", 1).code == 65
    assert kairos("jobs", "cancel", 1).code == 0
    for command in (("jobs", "cancel", 1), ("jobs", "run-now", 1), ("signal", 1, "paid")):
        said = kairos(*command)
        assert (said.code, said.out) == (65, ""), command
        assert "cancelled" in said.err


def test_a_database_without_the_schema_is_refused_and_the_remedy_named(
    kairos: Terminal, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop schema kairos cascade")
    said = kairos("jobs", "ls")
    assert said.code == 78
    assert said.err == "kairos: The database has no Kairos schema yet: run `kairos migrate`.\n"


def test_a_newer_schema_that_lacks_what_this_code_uses_is_refused(
    kairos: Terminal, client: SyncKairos
) -> None:
    with client.store.transaction() as connection:
        connection.execute(
            b"insert into kairos.migration_steps (version, step, name, checksum, breaks_before)"
            b" values (9999, 1, 'remove a column', '', 9999)"
        )
    for command in (("jobs", "ls"), ("migrate",)):
        said = kairos(*command)
        assert (said.code, "upgrade Kairos" in said.err) == (78, True)


def test_a_user_who_may_not_create_is_told_so(kairos: Terminal, database: str) -> None:
    guest = f"guest_{uuid4().hex}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"drop schema kairos cascade; create role {guest}")
        try:
            joint = "&" if "?" in database else "?"
            said = kairos("migrate", "--database-url", f"{database}{joint}options=-crole%3D{guest}")
        finally:
            connection.execute(f"drop role {guest}")
    assert (said.code, said.out) == (69, "")
    assert "does not let this user work here: permission denied" in said.err


def test_a_folder_without_a_database_is_not_made_into_one(kairos: Terminal, home: Path) -> None:
    kairos.environment.clear()
    for command in (("jobs", "ls"), ("queues", "ls"), ("signal", "1", "x")):
        said = kairos(*command)
        assert said.code == 78
        assert f"There is no database in {home / '.kairos'}: run `kairos dev` here first" in said.err
    assert list(home.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(kairos: Terminal, home: Path, shop: Path) -> None:
    kairos.environment.clear()
    (home / "file").touch()
    said = kairos("dev", shop, "--data", home / "file" / "data")
    assert (said.code, said.err) == (74, f"kairos: Not a directory: {home / 'file' / 'data'}\n")


def test_what_a_job_says_cannot_move_the_cursor_or_pass_for_markup(kairos: Terminal, shop: Path) -> None:
    evil = "\x1b[2J\x9b1m\u2028\u202e[red]x[/red]"
    kairos("enqueue", shop, "greet", "--input", json.dumps({"name": evil}))
    kairos("jobs", "cancel", 1, "--reason", evil)
    for command in (("jobs", "show", 1), ("signal", 1, evil), ("jobs", "show", evil)):
        said = kairos(*command)
        assert not set("\x1b\x9b\u2028\u202e") & set(said.out + said.err), command
    assert r"\x1b[2J\x9b1m\u2028\u202e[red]x[/red]" in kairos("jobs", "show", 1).out
    assert kairos("jobs", "show", 1, "--json").json["job"]["cancelReason"] == evil


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_a_reader_who_has_seen_enough_meets_no_traceback(unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as nobody:
        done = subprocess.run(
            [KAIROS, "lifecycle", "--mermaid"],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=nobody,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("worker", "-A", "shop"),
            "No such option: -A: name the app without an option, as in `kairos worker module:app`.",
        ),
        (("worker", "-Q", "mail"), "No such option: -Q: write --queues."),
        (("beat",), "No such command 'beat': every worker fires schedules, see `kairos worker`."),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_an_option_or_command_of_another_library_is_told_what_it_is_here(
    kairos: Terminal, words: tuple[str, ...], hint: str
) -> None:
    told = kairos(*words)
    assert told.code == 64
    assert told.err.startswith(f"kairos: {hint} Try `kairos")
