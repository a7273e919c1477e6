"""`kairos worker` as operators meet it: real processes, real signals."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.terminal import Process, Terminal, children, until

from kairos import Job, SyncKairos

Start = Callable[..., Process]


@pytest.fixture
def worker(start: Start, shop: Path, database: str) -> Start:
    """Start `kairos worker` for the shop on the test's database."""

    def worker(*options: object) -> Process:
        return start("worker", shop, *options, KAIROS_DATABASE_URL=database)

    return worker


@pytest.fixture
def running(kairos: Terminal, shop: Path, client: SyncKairos) -> Callable[..., Job]:
    """Enqueue a job and wait until a worker runs it."""

    def running(action: str, *arguments: str) -> Job:
        number = kairos("enqueue", shop, action, *arguments, "--json").json["job"]["id"]
        return until(lambda: job if (job := client.get(number)).state == "running" else None, f"run {number}")

    return running


def verbs(client: SyncKairos, job: Job) -> list[str]:
    return [row.verb for row in client.history(job.id)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_running_step_finish_and_ends_with_code_0(
    worker: Start, running: Callable[..., Job], client: SyncKairos, number: signal.Signals
) -> None:
    process = worker()
    job = running("nap", "seconds=1.5")
    process.signal(number)
    process.says("stopping")
    assert process.end() == 0
    assert (client.get(job.id).state, verbs(client, job)) == ("success", ["done"])
    assert client.workers() == []


def test_a_step_that_outlasts_the_grace_is_given_back_unharmed(
    worker: Start, running: Callable[..., Job], client: SyncKairos
) -> None:
    process = worker("--grace", "200ms")
    jobs = [running("nap", "seconds=3600"), running("hold", "seconds=3600")]  # a coroutine, and a thread
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    for job in jobs:
        assert (client.get(job.id).state, verbs(client, job)) == ("pending", ["release"])


@pytest.mark.parametrize("action", ["nap", "stick"])
def test_a_second_signal_ends_it_at_once_and_the_keeper_hands_its_job_back(
    worker: Start, running: Callable[..., Job], client: SyncKairos, action: str
) -> None:
    process = worker()
    job = running(action, "seconds=600")
    process.signal(signal.SIGTERM)
    if action == "nap":
        process.says("stopping")  # the other holds up the worker's event loop, which would say it
    until(lambda: os.kill(process.pid, signal.SIGTERM) or process.exited, "the end")
    assert process.end() == 130
    until(lambda: client.get(job.id).state == "pending", "the hand-back")
    assert verbs(client, job) == ["reap"]


def test_only_the_named_queues_are_served(
    worker: Start, running: Callable[..., Job], kairos: Terminal, shop: Path, client: SyncKairos
) -> None:
    other = kairos("enqueue", shop, "greet", "name=x", "--json").json["job"]["id"]
    worker("--queues", "slow=1,orders")
    running("nap", "seconds=600")
    (row,) = until(client.workers)
    assert row.queues == ["slow", "orders", "kairos"]
    second = kairos("enqueue", shop, "nap", "seconds=1", "--json").json["job"]["id"]
    kairos("enqueue", shop, "order", "order_id=1")
    until(lambda: client.jobs(state="waiting"), "the order")  # it looked again, past what it may not take
    assert [client.get(number).state for number in (other, second)] == ["pending", "pending"]


def test_a_queue_that_no_action_has_is_named_with_the_one_that_was_meant(worker: Start) -> None:
    process = worker("--queues", "slwo,default")
    process.says("no action of the app has the queue 'slwo'. Did you mean 'slow'?")


def test_several_processes_share_the_work_and_a_dead_one_is_replaced_loudly(
    worker: Start, running: Callable[..., Job], client: SyncKairos
) -> None:
    process = worker("--processes", "2", "--concurrency", "1")
    process.says("worker started", times=2)
    first, second = running("nap", "seconds=600"), running("nap", "seconds=600")
    pids = {row.id: row.pid for row in client.workers()}
    assert len({pids[str(job.worker)] for job in (first, second)} & set(children(process.pid))) == 2
    os.kill(pids[str(first.worker)], signal.SIGKILL)
    process.says("a worker process died and is started again")
    process.says("worker started", times=3)
    again = until(lambda: job if (job := client.get(first.id)).worker not in (None, first.worker) else None)
    assert again.worker != second.worker
    for job in (first, second):
        client.cancel(job.id)
        until(lambda job=job: client.get(job.id).state == "cancelled")
    process.signal(signal.SIGINT, group=True)  # as Ctrl-C does: to the parent and to its children
    assert process.end() == 0
    assert client.workers() == []


def test_a_second_signal_ends_all_processes_at_once(worker: Start, running: Callable[..., Job]) -> None:
    process = worker("--processes", "2")
    process.says("worker started", times=2)
    running("stick", "seconds=600")  # its worker hears nothing any more
    pids = children(process.pid)
    process.signal(signal.SIGTERM)
    process.says("worker stopped")
    process.signal(signal.SIGTERM)
    assert process.end() == 130
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "their end")


def test_children_end_in_good_order_when_their_parent_is_killed(
    worker: Start, running: Callable[..., Job], client: SyncKairos
) -> None:
    process = worker("--processes", "2")
    process.says("worker started", times=2)
    job = running("nap", "seconds=1.5")
    pids = children(process.pid)
    process.signal(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "their end")
    assert (client.get(job.id).state, verbs(client, job)) == ("success", ["done"])


def test_a_sync_app_works_and_its_steps_may_use_it(
    start: Start, home: Path, database: str, client: SyncKairos
) -> None:
    (home / "sync_app.py").write_text(
        "from kairos import SyncKairos\napp = SyncKairos()\n"
        "@app.job\ndef child(): return 'grown'\n"
        "@app.job\ndef parent(): return child.enqueue().id\n"
    )
    process = start("worker", "sync_app.py", KAIROS_DATABASE_URL=database)
    process.says("worker started")
    made = start("enqueue", "sync_app.py", "parent", KAIROS_DATABASE_URL=database)
    assert made.end() == 0
    assert client.result(client.result(1, timeout=30), timeout=30) == "grown"
    process.signal(signal.SIGTERM)
    assert process.end() == 0


def test_json_log_lines_are_json_and_hold_no_arguments(
    worker: Start, kairos: Terminal, shop: Path, client: SyncKairos
) -> None:
    process = worker("--log-format", "json")
    number = kairos("enqueue", shop, "fail", "why=\x1b[2J", "--json").json["job"]["id"]
    until(lambda: client.get(number).state == "failed")
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    lines = [json.loads(line) for line in process.said.splitlines()]
    (failed,) = [line for line in lines if line["event"] == "step failed"]
    assert failed["level"] == "warning"
    assert str(failed.get("exception") or failed.get("stack")).rstrip().endswith("ValueError: \x1b[2J")
    assert "locals" not in process.said


def test_readable_log_lines_spell_out_what_would_move_the_cursor(
    worker: Start, kairos: Terminal, shop: Path, client: SyncKairos
) -> None:
    process = worker()
    number = kairos("enqueue", shop, "fail", "why=\x1b[2J", "--json").json["job"]["id"]
    until(lambda: client.get(number).state == "failed")
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    assert "\x1b" not in process.said and r"ValueError: \x1b[2J" in process.said
    assert "locals" not in process.said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--queues", "a,,b"), "--queues is 'a,,b'; write names, each once, such as mail,reports=5."),
        (("--queues", "a=0"), "--queues is 'a=0'"),
        (("--queues", "a,a"), "--queues is 'a,a'"),
        (("--concurrency", "0"), "'--concurrency'"),
        (("--processes", "none"), "'--processes'"),
        (("--grace", "soon"), "grace is 'soon'; write"),
        (("--retention", "ever"), "retention is 'ever'; write"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(
    kairos: Terminal, shop: Path, options: tuple[str, ...], sentence: str
) -> None:
    said = kairos("worker", shop, *options)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert sentence in said.err


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (("--database-url", "nonsense"), 78, "The database URL is not understood"),
        (("--database-url", "postgresql://127.0.0.1:1/x"), 69, "Postgres cannot be reached"),
        (
            ("--database-url", "postgresql://127.0.0.1:1/x", "--processes", "2"),
            69,
            "Postgres cannot be reached",
        ),
    ],
)
def test_a_worker_without_its_database_at_the_start_says_so_once(
    start: Start, shop: Path, options: tuple[str, ...], code: int, sentence: str
) -> None:
    process = start("worker", shop, *options)
    assert process.end() == code, process.said
    assert process.said.startswith(f"kairos: {sentence}") and process.said.count("\n") == 1
