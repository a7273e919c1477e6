"""The first two minutes, as the README and the first page print them, on an embedded Postgres."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import home, start
from tests.cli.terminal import Process
from tests.docs.pages import ROOT, text

__all__ = ["home", "start"]


@pytest.mark.parametrize("page", ["README.md", "docs/start/first-job.md"])
def test_the_first_job_works_as_printed(page: str, start: Callable[..., Process], home: Path) -> None:
    shutil.copytree(ROOT / "examples", home / "examples")
    printed = re.findall(r"^\./kairos (.+)$", text(page), re.MULTILINE)
    dev = start(*shlex.split(printed[0]))
    dev.says("worker started")
    said = []
    for command in printed[1:4]:
        process = start(*shlex.split(command))
        assert process.end() == 0, process.said
        said.append(process.said)
    assert '(greet) is ✓ success: "Hello, world!"' in said[1]
    assert "History" in said[2]
    dev.signal(signal.SIGINT, group=True)
    assert dev.end() == 0, dev.said
