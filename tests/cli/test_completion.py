"""Shell completion: the shell asks the command itself what could come next."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("kairos sch", ["schedules"]),
        ("kairos schedules pa", ["pause"]),
        ("kairos worker --que", ["--queues"]),
    ],
)
def test_a_shell_is_told_what_could_come_next(line: str, answers: list[str]) -> None:
    words = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
        "_KAIROS_COMPLETE": "complete_bash",
    }
    asked = subprocess.run(
        [sys.executable, "-c", "from kairos.cli import main; main()"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.stdout.split() == answers
