"""Steps that run in a process of their own: what they return, how they may die, and that the worker outlives them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.worker.programs import process_steps
from tests.worker.world import ended, fetch, until, verbs, working

from kairos import Kairos


@pytest.fixture
def app(database):
    """The app of the program, on this test's database."""
    app = Kairos(database)
    app.registry = process_steps.app.registry
    return app


async def run(app, *calls):
    """Run calls one after the other and return how they ended, in order."""
    async with working(app, concurrency=1):
        jobs = await app.enqueue_many(calls)
        return [await ended(app, job.id) for job in jobs]


async def test_a_step_in_a_process_returns_from_another_process_and_is_kept_for_the_next(app):
    async with working(app, concurrency=1):
        jobs = await app.enqueue_many([process_steps.square.call(number=n) for n in (3, 4)])
        outputs = [(await ended(app, job.id)).output for job in jobs]
    assert [(each["square"], each["attempt"]) for each in outputs] == [(9, 0), (16, 0)]
    assert {each["pid"] for each in outputs} != {os.getpid()}
    assert outputs[0]["pid"] == outputs[1]["pid"]


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://me:s3cret@here/db", "postgresql://me@here/db"),
        ("postgresql://me:s3@cret:x@here:5432/db", "postgresql://me@here:5432/db"),
        ("postgresql://here/db?user=me&password=s3cret", "postgresql://here/db?user=me&"),
        ("postgresql://here/db?password=s3cret&user=me", "postgresql://here/db?user=me"),
        ("postgresql://me@here/db", "postgresql://me@here/db"),
        ("host=here user=me password=s3cret", "host=here user=me "),
        ("host=here password='s3 cret' user=me", "host=here user=me"),
    ],
)
async def test_the_process_of_a_step_has_no_password_of_the_database(app, monkeypatch, url, seen):
    monkeypatch.setenv("KAIROS_DATABASE_URL", url)
    monkeypatch.setenv("KAIROS_DIRECT_URL", url)
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    monkeypatch.setenv("OTHER", "kept")
    (job,) = await run(app, process_steps.surroundings.call())
    names = ("KAIROS_DATABASE_URL", "KAIROS_DIRECT_URL", "OTHER")
    assert [job.output[name] for name in names] == [seen, seen, "kept"]
    assert "PGPASSWORD" not in job.output


async def test_a_process_that_dies_fails_its_job_by_name_and_the_worker_goes_on(app):
    deaths = {"kill": "code -9 ", "segfault": "code -11 ", "exit": "code 3 "}
    *dead, alive = await run(
        app, *(process_steps.die.call(how=how) for how in deaths), process_steps.square.call(number=2)
    )
    assert {(job.state, job.error_code) for job in dead} == {("failed", "STEP_PROCESS_DIED")}
    assert [code in job.error for code, job in zip(deaths.values(), dead, strict=True)] == [True] * 3
    assert alive.output["square"] == 4


async def test_what_a_step_in_a_process_raises_comes_back_under_its_own_name(app):
    names = ["value", "exit", "interrupt", "cancelled", "memory"]
    jobs = await run(app, *(process_steps.fail.call(how=how) for how in names))
    assert {job.state for job in jobs} == {"failed"}
    codes = ["ValueError", "SystemExit", "KeyboardInterrupt", "STEP_ERROR", "MemoryError"]
    assert [job.error_code for job in jobs] == codes
    frame = "select error_frame from kairos.gen_durable where id = $1"
    async with app:
        (row,) = await fetch(app, frame, jobs[0].id)
    assert row["error_frame"].startswith("programs/process_steps.py:")
    assert row["error_frame"].endswith(" in fail")


async def test_what_a_step_in_a_process_told_last_is_kept_also_if_it_raises(app):
    jobs = await run(app, *(process_steps.tell.call(how=how) for how in ("value", "odd")))
    assert [(job.state, job.error_code) for job in jobs] == [
        ("failed", "ValueError"),
        ("failed", "STEP_ERROR"),
    ]
    assert [job.progress for job in jobs] == [{"done": 3, "total": 4}] * 2


async def test_an_error_or_an_answer_that_cannot_travel_is_told_in_words(app):
    odd, stop, unstorable = await run(
        app,
        process_steps.fail.call(how="odd"),
        process_steps.fail.call(how="stop iteration"),
        process_steps.answer.call(how="lambda"),
    )
    assert (odd.state, odd.error) == ("failed", "StepError: OddError: one and two")
    assert stop.state == "failed" and "StopIteration" in stop.error
    assert unstorable.error_code == "STEP_ERROR" and "lambda" in unstorable.error


async def test_an_answer_that_cannot_be_stored_fails_the_job_and_a_step_may_print_and_read_nothing(app):
    calls = [process_steps.answer.call(how=how) for how in ("nan", "large", "none")]
    *jobs, chat = await run(app, *calls, process_steps.chat.call())
    assert [job.error_code for job in jobs] == ["BAD_VALUE", "BAD_VALUE", None]
    assert [job.state for job in jobs] == ["failed", "failed", "success"]
    assert chat.output == "quiet"


async def test_a_step_in_a_process_takes_signals_spawns_children_and_tells_its_progress(app):
    async with working(app):
        job = await app.enqueue(process_steps.Adder.options(delay=60).call(numbers=[1, 2]))
        await app.signal(job.id, "bonus", {"extra": 10})
        await app.run_now(job.id)
        done = await ended(app, job.id)
        (child,) = await until(
            lambda: fetch(
                app, "select result from kairos.gen_durable where fsm = 'square' and status = 'done'"
            )
        )
        (signal,) = await app.signals(job.id)
    assert done.output["total"] == 13
    assert '"square": 0' in child["result"]
    assert signal.consumed_at is not None
    assert done.progress == {"done": 1, "total": 2}


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_a_late_process_is_killed_and_its_job_fails_as_a_timeout(app, tmp_path):
    _, job = await run(
        app, process_steps.square.call(number=1), process_steps.late.call(path=str(tmp_path / "pid"))
    )
    assert (job.state, job.error_code) == ("failed", "STEP_TIMEOUT")
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_a_cancelled_process_is_killed(app, tmp_path):
    pid = tmp_path / "pid"
    async with working(app):
        job = await app.enqueue(process_steps.sleep.call(path=str(pid)))
        await until(lambda: pid.exists() and pid.read_text())
        await app.cancel(job.id, reason="enough")
        job = await ended(app, job.id)
        assert (job.state, job.cancel_reason, await verbs(app, job.id)) == ("cancelled", "enough", ["yield"])
        assert not alive(int(pid.read_text()))


async def test_a_process_that_dies_while_it_waits_for_work_costs_no_job(app):
    async with working(app, concurrency=1):
        first = await ended(app, (await app.enqueue(process_steps.square.call(number=1))).id)
        os.kill(first.output["pid"], 9)
        await until(lambda: not alive(first.output["pid"]))
        second = await ended(app, (await app.enqueue(process_steps.square.call(number=2))).id)
        assert (second.state, second.attempt) == ("success", 0)
        assert second.output["pid"] != first.output["pid"]


@pytest.mark.parametrize(
    "how", [["-m", "tests.worker.programs.process_steps"], ["tests/worker/programs/process_steps.py"]]
)
async def test_a_program_runs_its_steps_in_processes_whether_started_as_a_script_or_a_module(database, how):
    told = subprocess.run(
        [sys.executable, *how],
        env={**os.environ, "KAIROS_DATABASE_URL": database, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "6 quiet" in told.stdout.splitlines(), told.stderr


async def test_a_machine_that_its_module_does_not_name_cannot_run_in_a_process_and_says_so(database):
    app = Kairos(database)

    @app.job(runs_in="process")
    def hidden() -> None: ...

    (job,) = await run(app, hidden.call())
    assert job.state == "failed" and "'hidden'" in job.error and "top level" in job.error
