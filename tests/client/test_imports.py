"""What is imported when: a program pays only for the parts of Kairos that it uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"asyncpg", "psycopg", "pydantic", "opentelemetry", "structlog", "rich", "typer", "httpx2", "fastapi"}


def loaded(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after the program."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint('\\n' + '\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines())


def test_importing_kairos_loads_nothing_of_it_until_a_name_is_used() -> None:
    found = loaded("import kairos")
    assert {name for name in found if name.startswith("kairos")} == {"kairos"}
    assert not HEAVY & found


def test_making_an_app_loads_no_driver_no_worker_and_no_grammar() -> None:
    found = loaded("from kairos import Kairos\nKairos('postgresql://nowhere')")
    assert not HEAVY & found
    for part in (
        "kairos.worker",
        "kairos.actions",
        "kairos.embedded",
        "kairos.schedule.english.grammar",
        "kairos.remote",
    ):
        assert not [name for name in found if name.startswith(part)], part


@pytest.mark.parametrize("command", ["--version", "jobs ls --help", "queues ls --help", "alarms ls --help"])
def test_a_command_loads_neither_the_service_nor_the_other_commands(command: str) -> None:
    found = loaded(f"from kairos.cli import run\nrun({command.split()!r})")
    others = {"kairos.cli.dev", "kairos.cli.serve", "kairos.cli.top", "kairos.cli.bench", "kairos.cli.doctor"}
    assert not (others | {"fastapi", "uvicorn", "structlog", "httpx2", "asyncpg", "opentelemetry"}) & found
    assert not [name for name in found if name.startswith(("kairos.worker", "kairos.api"))]


def test_every_public_name_is_there() -> None:
    import kairos

    assert set(kairos.__all__) <= set(dir(kairos))
    assert all(getattr(kairos, name) is not None for name in kairos.__all__)
