"""The built-in `command`: real processes, in a real worker."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kairos import JobState, Kairos
from kairos.errors import BadRequest, ConfigError, JobFailed, UnknownAction

SHELL = "/bin/sh"


@pytest.fixture
async def app(database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Kairos]:
    monkeypatch.setenv("KAIROS_DATABASE_URL", "postgresql://user:canary@host/db")
    monkeypatch.setenv("PGPASSWORD", "canary")
    async with (
        Kairos(
            database,
            actions=["command"],
            command_allow=[SHELL, f"{sys.executable} -c pass"],
            command_env=["GREETING"],
        ) as app,
        app.worker(poll=0.1),
    ):
        yield app


async def sh(app: Kairos, script: str, **given: Any) -> Any:
    """What a script's job came to."""
    job = await app.action("command").enqueue(argv=[SHELL, "-c", script], **given)
    return await app.result(job.id, timeout=60)


async def failure(app: Kairos, script: str, **given: Any) -> Any:
    with pytest.raises(JobFailed) as failed:
        await sh(app, script, **given)
    return failed.value.job


async def until(fact: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not fact():
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


async def test_the_exit_code_and_the_output_are_the_result(app: Kairos) -> None:
    assert await sh(app, "echo out; echo err >&2") == {
        "exitCode": 0,
        "stdout": "out\n",
        "stderr": "err\n",
        "truncated": False,
    }


async def test_every_line_is_in_the_jobs_log_with_its_stream(app: Kairos) -> None:
    job = await app.action("command").enqueue(argv=[SHELL, "-c", "echo one; echo two >&2; printf three"])
    await app.result(job.id, timeout=60)
    lines: list[Any] = []
    async with asyncio.timeout(60):
        while len(lines) < 3:
            lines = [(each.stream, each.line) for each in (await app.logs(job.id)) if each.stream]
            await asyncio.sleep(0.05)
    assert sorted(lines) == [("stderr", "two"), ("stdout", "one"), ("stdout", "three")]


async def test_a_line_is_in_the_log_while_the_command_still_runs(app: Kairos, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job = await app.action("command").enqueue(
        argv=[SHELL, "-c", f"echo started; until [ -e {gate} ]; do sleep 0.05; done"]
    )
    async with asyncio.timeout(60):
        while "started" not in [each.line for each in await app.logs(job.id)]:
            await asyncio.sleep(0.05)
    assert (await app.get(job.id)).state is JobState.RUNNING
    gate.touch()
    await app.result(job.id, timeout=60)


async def test_another_code_than_0_is_a_failure_with_the_last_words(app: Kairos) -> None:
    job = await failure(app, "echo broken >&2; exit 3")
    assert (job.error_code, "code 3" in job.error, "broken" in job.error) == ("COMMAND_FAILED", True, True)
    assert "SIGKILL" in (await failure(app, "kill -9 $$")).error


async def test_attempts_are_for_the_job_to_say(app: Kairos, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    job = await failure(app, f"echo x >> {tries}; exit 1")
    assert (job.attempt, tries.read_text()) == (0, "x\n")
    await sh(app, f"echo x >> {tries}; [ $(wc -l < {tries}) -ge 3 ]", attempts=2)
    assert tries.read_text() == "x\n" * 3


async def test_the_environment_has_nothing_of_the_worker_but_a_few_words(app: Kairos) -> None:
    result = await sh(app, "tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$PPID/environ")
    names = {line.partition("=")[0] for line in result["stdout"].splitlines()}
    assert "canary" not in result["stdout"]
    assert "PATH" in names and not {name for name in names if name.startswith(("KAIROS", "PG"))}


async def test_a_job_sets_only_what_it_may(app: Kairos) -> None:
    assert (await sh(app, "echo $GREETING", env={"GREETING": "hello"}))["stdout"] == "hello\n"
    job = await failure(app, "true", env={"LD_PRELOAD": "/tmp/evil.so"}, attempts=5)
    assert (job.attempt, "command_env" in job.error) == (0, True)


async def test_it_runs_where_it_is_told_and_reads_what_it_is_given(app: Kairos, tmp_path: Path) -> None:
    assert (await sh(app, "pwd; cat", cwd=str(tmp_path), stdin="given"))["stdout"] == f"{tmp_path}\ngiven"
    assert "cwd" in (await failure(app, "pwd", cwd=str(tmp_path / "nowhere"))).error


@pytest.mark.parametrize(
    "argv",
    [
        ["/bin/ls"],
        ["sh", "-c", "true"],
        ["/bin/../bin/ls"],
        [sys.executable, "-c", "print(1)"],
        [sys.executable],
        ["/bin/sh\x00"],
    ],
    ids=["other", "bare", "dots", "arguments", "fewer", "nul"],
)
async def test_what_the_list_does_not_have_is_not_run(app: Kairos, argv: list[str]) -> None:
    try:
        job = await app.action("command").enqueue(argv=argv, attempts=9)
    except BadRequest:
        return
    with pytest.raises(JobFailed) as failed:
        await app.result(job.id, timeout=60)
    assert (failed.value.job.error_code, failed.value.job.attempt) == ("INVALID", 0)


async def test_the_list_may_fix_the_first_arguments(app: Kairos) -> None:
    job = await app.action("command").enqueue(argv=[sys.executable, "-c", "pass", "more"])
    assert (await app.result(job.id, timeout=60))["exitCode"] == 0


async def test_a_cancel_ends_the_command_and_all_it_started(app: Kairos, tmp_path: Path) -> None:
    """The child ignores SIGTERM, its own child does so too, and another has left for a session of its own."""
    file = tmp_path / "pids"
    script = f"""
        trap '' TERM
        sh -c "trap '' TERM; echo \\$\\$ >> {file}; while :; do sleep 0.1; done" &
        setsid sh -c "trap '' TERM; echo \\$\\$ >> {file}; while :; do sleep 0.1; done" &
        echo $$ >> {file}
        while :; do sleep 0.1; done
    """
    job = await app.action("command").enqueue(argv=[SHELL, "-c", textwrap.dedent(script)], grace=0.2)
    await until(lambda: len(pids(file)) == 3)
    await app.cancel(job.id)
    async with asyncio.timeout(60):
        while (await app.get(job.id)).state is not JobState.CANCELLED:
            await asyncio.sleep(0.05)
    assert [pid for pid in pids(file) if is_alive(pid)] == []


async def test_a_command_may_clean_up_when_it_is_asked_to_stop(app: Kairos, tmp_path: Path) -> None:
    file = tmp_path / "said"
    script = f"trap 'echo bye > {file}; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    job = await failure(app, script, timeout=0.5, grace="20s")
    assert (job.error_code, file.read_text()) == ("STEP_TIMEOUT", "bye\n")


async def test_what_a_command_leaves_behind_ends_with_it(app: Kairos, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    await sh(app, f"sleep 1000 & echo $! > {file}")
    assert [pid for pid in pids(file) if is_alive(pid)] == []


async def test_endless_output_stays_small_in_memory_and_in_the_log(app: Kairos) -> None:
    result = await sh(app, "head -c 100000000 /dev/zero; echo; yes | head -c 20000000; echo end")
    assert (result["truncated"], result["stdout"][-4:]) == (True, "end\n")
    assert len(result["stdout"]) <= 16_000


async def test_a_worker_that_is_killed_takes_its_command_along(database: str, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    script = f"""
        import asyncio
        from kairos import Kairos

        async def main():
            async with Kairos({database!r}, actions=["command"], command_allow=["/bin/sh"]) as app, app.worker():
                await app.action("command").enqueue(
                    argv=["/bin/sh", "-c", "trap '' TERM; echo $$ > {file}; while :; do sleep 0.1; done"],
                    grace=0.2,
                )
                await asyncio.sleep(1000)

        asyncio.run(main())
    """
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    try:
        await until(lambda: pids(file))
        (pid,) = pids(file)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        await until(lambda: not is_alive(pid))
    finally:
        worker.kill()
        worker.wait()


async def test_it_is_off_until_it_is_turned_on_and_says_how(database: str) -> None:
    async with Kairos(database) as app:
        with pytest.raises(UnknownAction, match=r'actions = \["command"\]'):
            app.action("command")


@pytest.mark.parametrize(
    "settings",
    [
        {"actions": ["shell"]},
        {"command_allow": ["ls"]},
        {"command_allow": [[]]},
        {"command_env": ["KAIROS_DATABASE_URL"]},
        {"command_env": ["A=B"]},
        {"http_allow": "http://x"},
        {"holidays": {"UK": ["Christmas"]}},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Kairos("postgresql://nowhere", **{"actions": ["http"], **settings})
