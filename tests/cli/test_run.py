"""`kairos run`: a command on a schedule, or once, in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.terminal import Process, Terminal, until

from kairos import SyncKairos


@pytest.fixture
def backup(home: Path) -> Path:
    """A program in the folder where one stands."""
    script = home / "backup.sh"
    script.write_text('#!/bin/sh\necho "saved $1 in $PWD"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def allowed(kairos: Terminal, home: Path, backup: Path) -> Terminal:
    """A terminal where the program is allowed."""
    (home / "kairos.toml").write_text(f'actions = ["command"]\ncommand_allow = ["{backup}"]\n')
    return kairos


def test_a_command_is_put_on_a_schedule_in_one_line(allowed: Terminal, backup: Path) -> None:
    answer = allowed("run", "every weekday at 9am in London", "--", "./backup.sh", "all", "--hard")
    assert answer.code == 0, answer.err
    assert "every weekday at 09:00 (Europe/London)" in answer.out
    assert "09:00:00Z" in answer.out
    assert "kairos worker" in answer.out
    shown = allowed("schedules", "show", "backup.sh", "--json").json["schedule"]
    assert (shown["action"], shown["input"]["argv"], shown["input"]["cwd"]) == (
        "command",
        [str(backup), "all", "--hard"],
        str(backup.parent),
    )


def test_the_same_line_again_changes_nothing(allowed: Terminal, client: SyncKairos) -> None:
    for _ in range(2):
        assert allowed("run", "every day at 9am", "--", "./backup.sh").code == 0
    assert client.schedules.get("backup.sh").generation == 1


def test_an_intent_for_once_makes_one_job(allowed: Terminal, client: SyncKairos, backup: Path) -> None:
    answer = allowed("run", "in 20 minutes", "--json", "--", "./backup.sh", "all")
    job = client.get(answer.json["job"]["id"])
    assert (job.action, job.state, job.input["argv"]) == ("command", "scheduled", [str(backup), "all"])
    assert client.schedules.list() == []


def test_an_intent_that_is_not_understood_shows_where(allowed: Terminal) -> None:
    answer = allowed("run", "next friday", "--", "./backup.sh")
    assert (answer.code, "^^^" in answer.err, "try: " in answer.err) == (64, True, True)


@pytest.mark.parametrize(
    "settings", ["", 'actions = ["http"]\ncommand_allow = ["/bin/true"]\n'], ids=["off", "other"]
)
def test_a_command_that_no_worker_may_run_is_refused_with_the_lines_that_would_allow_it(
    kairos: Terminal, home: Path, backup: Path, settings: str
) -> None:
    (home / "kairos.toml").write_text(settings)
    answer = kairos("run", "every day at 9am", "--", "./backup.sh", "all")
    assert (answer.code, f'{backup} all"]' in answer.err) == (78, True)
    wanted = "".join(line + "\n" for line in answer.err.splitlines() if " = " in line)
    (home / "kairos.toml").write_text(wanted)
    assert kairos("run", "every day at 9am", "--", "./backup.sh", "all").code == 0


def test_a_variable_that_a_job_may_not_set_is_refused_with_the_line_that_would_allow_it(
    allowed: Terminal,
) -> None:
    answer = allowed("run", "every day at 9am", "--env", "TARGET=x", "--", "./backup.sh")
    assert (answer.code, 'command_env = ["TARGET"]' in answer.err) == (78, True)


@pytest.mark.parametrize("program", ["./missing.sh", "nosuchprogram", "./kairos.toml"])
def test_what_is_no_program_is_refused(allowed: Terminal, program: str) -> None:
    answer = allowed("run", "every day at 9am", "--", program)
    assert (answer.code, "program" in answer.err) == (64, True)


def test_a_name_that_runs_something_else_is_not_taken_by_default(allowed: Terminal) -> None:
    allowed("run", "every day at 9am", "--", "./backup.sh", "one")
    answer = allowed("run", "every day at 9am", "--", "./backup.sh", "two")
    assert (answer.code, "--name" in answer.err) == (65, True)
    assert allowed("run", "every day at 9am", "--name", "two", "--", "./backup.sh", "two").code == 0


def test_a_worker_without_an_app_runs_it_and_its_output_is_in_the_log(
    allowed: Terminal, client: SyncKairos, start: Callable[..., Process], database: str
) -> None:
    answer = allowed("run", "in 1 second", "--json", "--", "./backup.sh", "all")
    start("worker", KAIROS_DATABASE_URL=database)
    result = client.result(answer.json["job"]["id"], timeout=60)
    assert (result["exitCode"], result["stdout"]) == (0, f"saved all in {Path.cwd()}\n")


def test_a_worker_without_an_app_and_without_actions_says_what_to_do(
    home: Path, start: Callable[..., Process], kairos: Terminal
) -> None:
    answer = kairos("worker")
    assert (answer.code, "kairos.toml" in answer.err) == (78, True)


def test_what_a_live_worker_allows_need_not_be_allowed_here(
    kairos: Terminal,
    home: Path,
    backup: Path,
    start: Callable[..., Process],
    database: str,
    client: SyncKairos,
) -> None:
    process = start(
        "worker",
        KAIROS_DATABASE_URL=database,
        KAIROS_ACTIONS="command",
        KAIROS_COMMAND_ALLOW=str(backup),
    )
    process.says("worker started")
    until(lambda: [each for each in client.workers() if "command" in each.actions])
    answer = kairos("run", "every day at 9am", "--", "./backup.sh")
    assert (answer.code, "No worker" in answer.out) == (0, False), answer.err
