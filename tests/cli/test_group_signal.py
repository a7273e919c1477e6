"""A service manager signals every process of a service at once, not only the first."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.cli.terminal import Process, Terminal, until

from kairos import SyncKairos


def test_a_sigterm_to_the_whole_group_lets_what_runs_finish(
    start: Callable[..., Process], kairos: Terminal, client: SyncKairos, shop: Path, database: str
) -> None:
    job = kairos("enqueue", shop, "nap", "seconds=1", "--json").json["job"]["id"]
    process = start("worker", shop, "--processes", "2", KAIROS_DATABASE_URL=database)
    until(lambda: client.get(job).state == "running", "the job's start")
    process.signal(signal.SIGTERM, group=True)
    assert process.end() == 0, process.said
    assert client.get(job).state == "success"
