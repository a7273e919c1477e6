"""The smaller commands: `signal`, `queues`, `machines`, `lifecycle`, `migrate`, `bench`, `chaos`, `cluster`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.cli.terminal import Terminal

from kairos.cli import source_checkout
from kairos.fsm.lifecycle import SPEC, TRANSITIONS
from kairos.fsm.render import as_json, mermaid

if TYPE_CHECKING:
    from kairos import SyncKairos


def test_a_signal_is_sent_by_id_or_by_unique_key(kairos: Terminal, shop: Path, client: SyncKairos) -> None:
    kairos("enqueue", shop, "order", "order_id=1", "--unique", "order:1")
    by_key = kairos("signal", "order:1", "delivered", '{"at": "noon"}', "--dedup-key", "e1", "--json").json
    assert by_key == {"signal": {"target": "order:1", "name": "delivered", "answer": "delivered"}}
    again = kairos("signal", 1, "delivered", "--dedup-key", "e1").out
    assert again == (
        "Signal 'delivered' to job 1: one with that dedup key was sent before, so this one was dropped.\n"
    )
    assert kairos("signal", 1, "note", "-", stdin='["from", "stdin"]').code == 0
    sent = [(signal.name, signal.payload) for signal in client.signals(1)]
    assert sent == [("delivered", {"at": "noon"}), ("note", ["from", "stdin"])]


def test_a_unique_key_of_digits_can_be_told_from_an_id(kairos: Terminal, shop: Path) -> None:
    kairos("enqueue", shop, "order", "order_id=1", "--unique", "42")
    assert kairos("signal", "42", "note").code == 66
    assert kairos("signal", "42", "note", "--by-key").code == 0


def test_a_queue_is_paused_resumed_and_listed(kairos: Terminal, shop: Path) -> None:
    assert kairos("queues", "ls").out == "No queues: nothing is live, and none has settings.\n"
    kairos("enqueue", shop, "nap", "seconds=1")
    assert kairos("queues", "pause", "slow").out == "Queue slow: paused now.\n"
    (queue,) = kairos("queues", "ls", "--json").json["queues"]
    assert (queue["name"], queue["pending"], queue["pausedAt"] is None) == ("slow", 1, False)
    assert "paused" in kairos("queues", "ls").out
    assert kairos("queues", "resume", "slow").out == "Queue slow: runs without limits.\n"


def test_a_queue_that_nobody_has_used_is_paused_only_when_told_so(kairos: Terminal, shop: Path) -> None:
    kairos("enqueue", shop, "nap", "seconds=1")
    refused = kairos("queues", "pause", "slwo")
    assert refused.code == 66
    assert refused.err == (
        "kairos: The queue 'slwo' was never used. Did you mean 'slow'? Use --new to pause it anyway.\n"
    )
    assert [queue["name"] for queue in kairos("queues", "ls", "--json").json["queues"]] == ["slow"]
    assert kairos("queues", "pause", "slwo", "--new").out == "Queue slwo: paused now.\n"


def test_a_misspelled_queue_that_is_limited_is_told(
    kairos: Terminal, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kairos("enqueue", shop, "nap", "seconds=1")
    assert kairos("queues", "limit", "slow", "--concurrency", "5").out == "Queue slow: 5 at once.\n"
    assert "was never used" not in caplog.text
    assert kairos("queues", "limit", "slwo", "--concurrency", "5").out == "Queue slwo: 5 at once.\n"
    assert "The queue 'slwo' was never used. Did you mean 'slow'?" in caplog.text


def test_a_bare_number_is_a_length_in_seconds(kairos: Terminal, shop: Path) -> None:
    kairos("enqueue", shop, "nap", "seconds=1", "--delay", "3600")
    assert "still scheduled after 0 s" in kairos("jobs", "wait", 1, "--timeout", "0").err


def test_the_limits_of_a_queue_are_set_all_at_once_and_lifted(kairos: Terminal) -> None:
    limits = ("--concurrency", "3", "--rate", "100/m", "--key-concurrency", "2", "--key-rate", "5/500ms")
    assert kairos("queues", "limit", "mail", *limits).out == (
        "Queue mail: 3 at once, 100 in 1m, 2 at once per key, 5 in 500ms per key.\n"
    )
    less = kairos("queues", "limit", "mail", "--rate", "1/90", "--json").json["queue"]
    assert (less["concurrency"], less["rate"], less["keyRate"]) == (None, {"limit": 1, "seconds": 90.0}, None)
    assert kairos("queues", "limit", "mail", "--none").out == "Queue mail: runs without limits.\n"


def test_machines_are_listed_and_drawn(kairos: Terminal, shop: Path) -> None:
    said = kairos("machines", shop).out
    assert all(name in said for name in ("greet", "order", "charge, ship", "name, times, token"))
    machines = {each["name"]: each for each in kairos("machines", shop, "--json").json["machines"]}
    assert machines["order"]["ttl"] == 3600
    assert machines["greet"]["input"]["required"] == ["name"]
    assert kairos("machines", shop, "--diagram", "order").out == (
        "stateDiagram-v2\n    [*] --> charge\n    charge --> ship : next\n    ship --> [*]\n"
    )
    assert kairos("machines", shop, "--diagram", "order", "--json").json["states"] == ["charge", "ship"]


def test_an_app_without_machines_says_so(kairos: Terminal, home: Path) -> None:
    (home / "empty_app.py").write_text("from kairos import Kairos\napp = Kairos()\n")
    assert kairos("machines", "empty_app.py").out.startswith("empty_app.py has no machines yet")


def test_the_lifecycle_is_printed_as_a_table_a_drawing_and_json(kairos: Terminal) -> None:
    said = kairos("lifecycle").out
    assert [line.split()[0] for line in said.splitlines()[1:]] == [row.verb for row in TRANSITIONS]
    assert all(row.because in said for row in TRANSITIONS)
    assert kairos("lifecycle", "--mermaid").out == mermaid(SPEC)
    assert kairos("lifecycle", "--json").json == as_json(SPEC)


def test_migrate_brings_an_empty_database_up_once(kairos: Terminal, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop schema kairos cascade")
    assert kairos("migrate").out.startswith("Applied 0001_engine, 0002_guard.gen")
    assert kairos("jobs", "ls").code == 0
    assert kairos("migrate").out.endswith("nothing to do.\n")
    assert kairos("migrate", "--json").json["applied"] == []


def test_migrate_grants_a_runtime_role_or_says_why_not(kairos: Terminal) -> None:
    said = kairos("migrate", "--runtime-role", "no such role")
    assert said.code == 78
    assert "The runtime role 'no such role' does not exist" in said.err


def test_the_database_may_be_named_before_or_after_the_command(kairos: Terminal, database: str) -> None:
    kairos.environment.clear()
    assert kairos("--database-url", database, "jobs", "ls").out == "No jobs.\n"
    assert kairos("jobs", "ls", "--database-url", database).out == "No jobs.\n"


def test_kairos_alone_shows_its_commands(kairos: Terminal) -> None:
    said = kairos()
    assert said.code == 0
    assert all(
        f"\n  {name} " in said.out
        for name in ("dev", "worker", "enqueue", "jobs", "queues", "bench", "chaos", "cluster")
    )
    assert kairos("--version").out.startswith("kairos 0.")


@pytest.mark.parametrize("program", ["bench", "chaos", "cluster"])
def test_bench_chaos_and_cluster_are_given_all_arguments_of_the_command(home: Path, program: str) -> None:
    (home / program).mkdir()
    (home / program / "__main__.py").write_text(
        "import os, sys\nprint(os.getcwd(), sys.argv[1:])\nsys.exit(5)"
    )
    code = f"""
import sys
from kairos.cli import run, source_checkout
source_checkout.CHECKOUT = source_checkout.Path({str(home)!r})
sys.exit(run(sys.argv[1:]))
"""
    command = [sys.executable, "-c", code, program, "--help", "--json", "pick"]
    done = subprocess.run(command, cwd="/", env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, f"{home} ['--help', '--json', 'pick']\n")


@pytest.mark.parametrize("program", ["bench", "chaos", "cluster"])
def test_bench_chaos_and_cluster_are_refused_by_name_outside_a_clone(
    kairos: Terminal, home: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(source_checkout, "CHECKOUT", home)
    said = kairos(program)
    assert (said.code, said.err.count("\n")) == (78, 1)
    assert f"There is no {program} folder" in said.err
