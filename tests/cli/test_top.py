"""`kairos top`: one look in a pipe, again and again on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal


def test_one_look_shows_what_waits_where_and_that_nobody_is_there(kairos: Terminal, shop: Path) -> None:
    assert kairos("top").out.split("\n")[2:5:2] == ["No live work.", "No worker is there."]
    kairos("enqueue", shop, "greet", "name=x")
    kairos("enqueue", shop, "nap", "seconds=1", "--delay", "1h")
    kairos("queues", "pause", "slow")
    seen = kairos("top", "--once").out
    assert seen.startswith("◷ scheduled 1   ○ pending 1   ▶ running 0   ◆ waiting 0\n")
    lines = [line.split() for line in seen.split("\n")]
    assert ["default", "0", "1", "0", "0"] in lines and ["slow", "1", "0", "0", "0", "paused"] in lines


def test_one_look_as_json_has_queues_workers_and_jobs_in_the_words_of_the_api(
    kairos: Terminal, shop: Path
) -> None:
    kairos("enqueue", shop, "greet", "name=x")
    seen = kairos("top", "--json").json
    assert [(queue["name"], queue["pending"]) for queue in seen["queues"]] == [("default", 1)]
    assert (seen["workers"], seen["jobs"]) == ([], [])


def test_a_terminal_is_drawn_anew_until_it_is_interrupted(kairos: Terminal, database: str) -> None:
    screen, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kairos.cli", "top", "--every", "0.1", "--database-url", database],
        stdin=end,
        stdout=end,
        stderr=end,
        # A run in the background ignores it, and its children would too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(end)
    seen = b""
    while seen.count(b"No worker is there.") < 3:
        seen += _shown(screen, seen)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # which is how the terminal says that its last program has ended
        for _ in range(1000):  # a terminal that nobody reads would keep it from ending
            seen += _shown(screen, seen)
        pytest.fail("it goes on drawing after the interrupt")
    assert process.wait(30) == 0
    os.close(screen)
    assert not re.search(rb"Traceback", seen)


def _shown(screen: int, before: bytes) -> bytes:
    """What is drawn next; nothing for half a minute fails the test with what was seen until then."""
    assert select.select([screen], [], [], 30)[0], f"nothing more after {before[-2000:]!r}"
    return os.read(screen, 65536)
