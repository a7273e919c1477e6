"""Without its extras Kairos enqueues and works; what needs an extra names the command that installs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kairos.extras import EXTRAS, require

PROJECT = Path(__file__).parents[2] / "pyproject.toml"

# Runs one program as if the packages of the extras had never been installed.
_WITHOUT_EXTRAS = """
import importlib.util
import sys

import kairos.extras

missing = {package for packages in kairos.extras.EXTRAS.values() for package in packages} | {"starlette"}
find_spec = importlib.util.find_spec
kairos.extras.find_spec = lambda name: None if name in missing else find_spec(name)


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
exec(sys.stdin.read())
"""


def run_lean(program: str, database: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAIROS_")}
    if database is not None:
        environment["KAIROS_DATABASE_URL"] = database
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS],
        input=program,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_lean_install_enqueues_and_works(database: str) -> None:
    program = """
import asyncio
from kairos import Kairos

app = Kairos()

@app.job()
async def double(n: int) -> int:
    return 2 * n

async def main():
    async with app, app.worker():
        job = await double.enqueue(n=21)
        print("result", await app.result(job.id, timeout=60))

asyncio.run(main())
"""
    done = run_lean(program, database)
    assert ("result 42" in done.stdout.splitlines(), done.returncode) == (True, 0), done.stderr


@pytest.mark.parametrize("command", ["serve", "dev"])
def test_a_command_that_needs_the_service_names_the_command_that_installs_it(command: str) -> None:
    done = run_lean(f"import sys; sys.argv = ['kairos', {command!r}]; from kairos.cli import main; main()")
    assert done.returncode == 78
    assert "".join(done.stderr.split()) == "".join(
        f"kairos: `kairos {command}` needs packages that are not installed: "
        "run `pip install 'kairos-scheduler[server]'`.".split()
    )


def test_mounting_the_service_names_the_command_that_installs_it() -> None:
    program = """
from kairos import Kairos, KairosError
try:
    Kairos("postgresql://127.0.0.1:1/none").asgi()
except KairosError as error:
    print(error)
"""
    assert "run `pip install 'kairos-scheduler[server]'`." in run_lean(program).stdout


def test_each_extra_lists_what_pyproject_installs_for_it() -> None:
    declared = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        names = {re.split(r"[\[>]", requirement)[0].replace("-", "_") for requirement in declared[extra]}
        assert names == set(packages) - {"grpc"}  # which comes with ray[client]


def test_an_extra_that_is_installed_is_not_asked_for() -> None:
    require("server", "This test")
