"""Lines across processes: steps that have one of their own, and workers that are killed or frozen while they talk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.captured_logs import capture_logs
from tests.worker.programs import logging_steps
from tests.worker.world import ended, reaches, until, working

from kairos import Kairos

ROOT = Path(__file__).parents[2]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def app(database: str) -> Kairos:
    """The app of the program, on this test's database."""
    app = Kairos(database)
    app.registry = logging_steps.app.registry
    return app


@pytest.fixture
def start(database: str, tmp_path: Path) -> Iterator[Start]:
    """Start a worker in a process of its own; those left over are killed."""
    workers: list[subprocess.Popen[bytes]] = []

    def start(lease: float) -> subprocess.Popen[bytes]:
        with (tmp_path / "said").open("ab") as said:
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.worker.programs.logging_steps", str(lease)],
                    cwd=ROOT,
                    env={**os.environ, "KAIROS_DATABASE_URL": database},
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            )
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
        worker.wait()


async def said_by(app: Kairos, job: int) -> dict[int, list[str]]:
    """The lines of each attempt; their cursors have no gap."""
    rows = await app.logs(job, limit=10_000)
    assert [row.cursor for row in rows] == list(range(1, len(rows) + 1))
    assert [row.attempt for row in rows] == sorted(row.attempt for row in rows)
    return {attempt: [row.line for row in rows if row.attempt == attempt] for attempt in (0, 1)}


async def test_a_step_in_a_process_logs_and_is_captured_as_any_other(app: Kairos) -> None:
    async with working(app):
        job = await app.action("compute").enqueue("s3cret")
        assert (await ended(app, job.id)).state == "success"
        rows = await app.logs(job.id)
    assert [(row.level, row.stream, row.line) for row in rows] == [
        ("info", None, "computing"),
        ("info", "stdout", "half\tway"),
        ("info", "stderr", "a warning"),
        ("warning", None, "slow"),
    ]
    first, last = rows[0].fields, rows[-1].fields
    assert first is not None and first["token"] == "[redacted]" and first["pid"] != os.getpid()
    assert last == {"part": 2}


async def test_a_step_in_a_process_that_is_not_captured_keeps_only_what_it_logs(app: Kairos) -> None:
    async with working(app):
        quiet, broken = await app.enqueue_many([app.action("quiet").call(), app.action("broken").call()])
        for job in (quiet, broken):
            await ended(app, job.id)
        assert [row.line for row in await app.logs(quiet.id)] == ["kept"]
        assert [row.line for row in await app.logs(broken.id)] == ["ValueError: in the other process"]


async def test_a_thread_left_behind_in_a_process_does_not_speak_for_the_next_job(app: Kairos) -> None:
    with capture_logs() as told:
        async with working(app):
            over = await app.action("leave_behind").enqueue()
            first = await ended(app, over.id)
            job = await app.action("meet").enqueue()
            second = await ended(app, job.id)
            assert (second.state, second.output) == ("success", first.output)  # the same process
            assert [row.line for row in await app.logs(job.id)] == ["mine"]
            assert await app.logs(over.id) == []
            assert second.progress is None
    (dropped,) = (each for each in told if each["event"] == "log lines of a step that has ended were dropped")
    assert (dropped["job"], dropped["lines"]) == (over.id, 1)


async def test_what_a_killed_worker_had_written_stays_and_its_heir_goes_on_counting(
    app: Kairos, start: Start
) -> None:
    async with app:
        job = await app.action("talk").enqueue()
        victim = start(3600)
        await until(lambda: _enough(app, job.id))
        victim.kill()
        await reaches(app, job.id, "pending")
        async with app.worker(poll=0.1):
            assert (await ended(app, job.id)).output == "done"
        said = await said_by(app, job.id)
    assert said[0] == [str(number) for number in range(len(said[0]))] and len(said[0]) >= 20
    assert said[1] == ["once more"]


@pytest.mark.parametrize("action", ["talk", "mutter"])
async def test_a_frozen_worker_that_wakes_up_as_a_zombie_writes_nothing_more(
    app: Kairos, start: Start, tmp_path: Path, action: str
) -> None:
    async with app:
        job = await app.action(action).enqueue()
        zombie = start(0.5)
        await until(lambda: _enough(app, job.id))
        zombie.send_signal(signal.SIGSTOP)
        async with app.worker(poll=0.1):
            assert (await ended(app, job.id)).state == "success"
        before = await said_by(app, job.id)
        zombie.send_signal(signal.SIGCONT)
        await until(lambda: b"log lines of a lost lease refused" in (tmp_path / "said").read_bytes())
        assert await said_by(app, job.id) == before
    assert before[0] == [str(number) for number in range(len(before[0]))]


async def _enough(app: Kairos, job: int) -> bool:
    return len(await app.logs(job)) >= 20
