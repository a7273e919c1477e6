"""A worker that is asked to leave, as a real process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.terminal import Process, Terminal, until

from kairos import SyncKairos, operations

Start = Callable[..., Process]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_that_is_asked_to_leave_finishes_its_step_and_ends_with_code_0(
    kairos: Terminal, start: Start, shop: Path, client: SyncKairos, database: str, processes: int
) -> None:
    process = start("worker", shop, "--processes", processes, KAIROS_DATABASE_URL=database)
    workers = until(lambda: found if len(found := client.workers()) == processes else None, "workers")
    job = kairos("enqueue", shop, "nap", "seconds=1", "--json").json["job"]["id"]
    until(lambda: client.get(job).state == "running", "the step runs")
    for worker in workers:
        client.run(operations.drain(worker.id))
    assert process.end() == 0
    assert (client.get(job).state, client.workers()) == ("success", [])


def test_machines_are_known_once_a_worker_was_there(
    kairos: Terminal, start: Start, shop: Path, client: SyncKairos, database: str
) -> None:
    assert kairos("machines", "--database-url", database).out.startswith("No machines")
    start("worker", shop, KAIROS_DATABASE_URL=database)
    until(lambda: client.workers(), "the worker")
    machines = kairos("machines", "--database-url", database, "--json").json["machines"]
    assert {"greet", "order"} <= {each["name"] for each in machines}
    assert "charge" in kairos("machines", "--database-url", database).out
    assert "[*] --> charge" in kairos("machines", "--database-url", database, "--diagram", "order").out


def test_what_a_machine_hides_is_hidden_on_the_command_line_without_its_code(
    kairos: Terminal, shop: Path, database: str
) -> None:
    job = kairos(
        "enqueue", shop, "greet", "name=Ann", "token=s3cr3t", "--database-url", database, "--json"
    ).json["job"]["id"]
    for command in (("show", job), ("show", job, "--json"), ("ls", "--json")):
        assert "s3cr3t" not in kairos("jobs", *command, "--database-url", database).out
