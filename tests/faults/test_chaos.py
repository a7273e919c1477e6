"""Short chaos runs: a correct engine passes, a broken one does not, and each run ends with a verdict."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from types import SimpleNamespace

import asyncpg
import pytest
from chaos import guards, harness, load, probe, program, recovery
from chaos.__main__ import main
from chaos.harness import WEIGHTS, run
from chaos.journal import Journal
from chaos.nemesis import Nemesis
from chaos.processes import Forked
from chaos.record import Record
from chaos.report import Report
from tests.worker.world import until

from kairos import Kairos
from kairos.worker.keeper import is_stopped

AIMED = {name: WEIGHTS[name] for name in ("kill", "freeze", "cut", "cut after commit", "freeze in a commit")}


async def test_workers_killed_and_frozen_inside_their_steps_break_no_promise(database, tmp_path):
    report = await run(database, tmp_path, seconds=5, seed=1, faults=AIMED)
    assert report.violations == []
    counts = report.counts
    # It has to have been in danger.
    assert counts["kill"] + counts["freeze"] >= 1 and counts["jobs done"] >= 10
    assert counts["requested over HTTP"] and counts["ticks fired"]
    assert counts["workers alive at the end"] == harness.WORKERS


async def test_a_lost_acknowledged_enqueue_is_a_verdict_and_no_hang(database, tmp_path, monkeypatch):
    """Jobs that were acknowledged vanish under the clients that still send them signals."""
    answered = load.Clients.enqueue

    async def acknowledged_and_lost(self, action, state, **options):
        job = await answered(self, action, state, **options)
        if job is None:
            return None
        self._journal.write("ack", job=job + 1_000_000, token="lost", action=action)
        return job + 1_000_000

    monkeypatch.setattr(load.Clients, "enqueue", acknowledged_and_lost)
    waits = {"mix": {"inbox": 1.0}, "patience": 2.0}
    report = await run(database, tmp_path, seconds=1, seed=1, faults={}, http=False, **waits)
    assert report.verdict == "INVALID"
    assert any("was accepted and does not exist" in said for said in report.violations)
    # The jobs that the signals were meant for never end: that is reported too, after a bounded wait.
    assert any(said.startswith("the_run_drains") for said in report.violations)


async def test_a_run_that_ends_on_workers_of_the_old_release_finishes_the_deploy(
    database, tmp_path, monkeypatch
):
    """Only the new release knows the second version of an action, and its jobs must end as well."""
    put_worker, started = harness.Nemesis.put_worker, []

    def first_the_old(self, slot, release):
        started.append(program.OLD if len(started) < harness.WORKERS else release)
        put_worker(self, slot, started[-1])

    monkeypatch.setattr(harness.Nemesis, "put_worker", first_the_old)
    report = await run(database, tmp_path, seconds=2, seed=1, faults={}, http=False, mix={"trek": 1.0})
    assert report.violations == []
    assert started == [program.OLD] * harness.WORKERS + [program.NEW] * harness.WORKERS


async def test_clients_go_on_while_their_signals_are_acknowledged(tmp_path, monkeypatch):
    """On a slow machine the last signals take longer in all than the patience with each of them."""
    now, wanted, sent = 0.0, asyncio.Queue[int](), 0

    class SlowApp:
        def action(self, name):
            return self

        def options(self, **given):
            return self

        async def enqueue(self, **state):
            wanted.put_nowait(state["wanted"])
            return SimpleNamespace(id=7)

        async def get(self, job):
            return SimpleNamespace(state="waiting")

        async def signal(self, job, name, payload, dedup_key):
            nonlocal now, sent
            now, sent = now + 50, sent + 1
            return "parked"

    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now))
    clients = load.Clients(SlowApp(), SlowApp(), Journal(tmp_path / "journal"), random.Random(0))
    one_job = asyncio.create_task(clients.run(rate=0.001, most=1, mix={"inbox": 1.0}))
    assert await wanted.get() == 4
    one_job.cancel()
    await clients.finish(patience=60)
    assert sent == 4


async def test_a_worker_that_froze_too_late_for_its_fault_is_woken_before_the_next(tmp_path):
    journal = Journal(tmp_path / "journal")
    process = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        process.send_signal(signal.SIGSTOP)
        journal.write("frozen", at="after park_jobs", pid=process.pid)

        async def nothing() -> bool:
            nemesis.stopped = True
            return False

        def no_worker(_release: int) -> Forked:
            raise AssertionError

        nemesis = Nemesis(tmp_path, journal, random.Random(1), 0.1, no_worker, {"nothing": nothing})
        await nemesis.run({"nothing": 1.0}, {})
        assert not is_stopped(process.pid)
    finally:
        process.kill()
        await process.wait()


def test_a_folder_with_the_journal_of_another_run_is_refused(tmp_path, capsys):
    (tmp_path / "journal").touch()
    with pytest.raises(SystemExit):
        main(["--report", str(tmp_path)])
    assert "holds the journal of another run" in capsys.readouterr().err


def test_a_run_that_did_too_little_proves_nothing():
    did = Counter(dict.fromkeys(WEIGHTS, 100))
    wanted = [said.partition(":")[0] for said in guards.missing(did, 90, WEIGHTS, 3)]
    enough = did + Counter(dict.fromkeys(wanted, 10000))
    enough["workers alive at the end"] = 3
    assert guards.missing(enough, 90, WEIGHTS, 3) == []
    for name in WEIGHTS:
        less = Counter({**enough, name: 0})
        assert any(said.startswith(f"{name}: 0 of ") for said in guards.missing(less, 90, WEIGHTS, 3)), name
    dead = Counter({**enough, "workers alive at the end": 2})
    assert guards.missing(dead, 90, WEIGHTS, 3) == ["a worker was dead at the end"]


def test_a_recovery_counts_from_the_death_to_the_end_of_what_was_held():
    journal = [
        {"e": "ready", "worker": "one", "pid": 1},
        {"e": "ready", "worker": "two", "pid": 2},
        {"e": "ready", "worker": "three", "pid": 3},
        {"e": "dies", "pid": 1, "wall": 10.0, "keeper": True},
        {"e": "dies", "pid": 2, "wall": 20.0, "keeper": False},
        {"e": "dies", "pid": 3, "wall": 30.0},  # by itself
        {"e": "outage", "began": 10.6, "until": 14.0},
    ]
    held = [("one", 9.0), ("one", 10.5), ("two", 22.0), ("two", 23.0), ("three", 31.0), ("one", 14.25)]
    audit = [
        {"job": job, "tx": job, "old": "executing", "old_holder": holder, "wall": wall}
        for job, (holder, wall) in enumerate(held)
    ]
    history = [{"job": job, "tx": job, "verb": "reap"} for job in range(len(held))]
    record = Record(journal=journal, jobs=[], audit=audit, history=history)
    assert list(recovery.recoveries(record)) == [
        recovery.Recovery(keeper=True, seconds=0.5),
        recovery.Recovery(keeper=False, seconds=2.0),
        recovery.Recovery(keeper=False, seconds=3.0),
        recovery.Recovery(keeper=True, seconds=4.25, since_outage=0.25),
    ]
    figures = dict(recovery.figures(record))
    assert figures["recovery after a kill, p95, ms"] == 500
    assert figures["recovery after a kill while Postgres was unavailable, from its return, p95, ms"] == 250
    assert figures["recovery after a lost machine, p95, ms"] == 3000


async def test_the_probe_finds_out_when_postgres_takes_no_writes(database, tmp_path):
    (tmp_path / "journal").touch()
    async with Kairos(database) as app:
        await app.migrate()
    client = await asyncpg.connect(database)
    await client.execute(probe.INSTALL)
    probing = Forked(probe.probe, database, tmp_path)
    try:
        written = "select count(*) from probe where at > now() - interval '1 second'"
        await until(lambda: client.fetchval(written), "a write")
        async with client.transaction():
            await client.execute("lock table kairos.gen_durable in share mode")
            await until(lambda: _is_over(client, "300 ms"), "an outage")
        journal = Journal(tmp_path / "journal")
        (outage,) = await until(lambda: journal.events("outage"), "the outage in the journal")
        assert outage["until"] - outage["began"] >= 0.25
    finally:
        probing.kill()
        await client.close()


async def _is_over(client, since):
    return await client.fetchval(f"select clock_timestamp() > now() + interval '{since}'")


async def test_what_an_outage_kept_clients_from_sending_is_sent_afterwards(monkeypatch):
    """The rate is that of the whole run: a run of ten minutes is to acknowledge as many jobs as it says."""
    now, sent = 0.0, []

    async def sleep(seconds):
        nonlocal now
        now += max(seconds, 0.0)
        if now > 20:
            raise asyncio.CancelledError
        clients.backlog = 100 if 5 < now < 10 else 0

    clients = load.Clients(None, None, None, random.Random(1))
    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(load, "asyncio", SimpleNamespace(sleep=sleep))

    def start(work):
        work.close()
        sent.append(now)
        clients.unacknowledged += len(sent) % 10 == 0

    monkeypatch.setattr(clients, "start", start)
    with pytest.raises(asyncio.CancelledError):
        await clients.run(rate=10, most=50)
    assert 190 <= len(sent) - clients.unacknowledged <= 201
    busiest = max(sum(at <= other < at + 1 for other in sent) for at in sent)
    assert busiest <= 32  # not all at once


@pytest.mark.parametrize(
    ("violations", "missing", "verdict", "code"),
    [([], [], "VALID", 0), (["a"], ["b"], "INVALID", 1), ([], ["b"], "VACUOUS", 2)],
)
def test_a_report_is_written_for_people_and_for_programs(tmp_path, violations, missing, verdict, code):
    report = Report(7, 90.0, violations, Counter(kill=3), missing, ["disk: not possible here"])
    assert (report.verdict, report.exit_code) == (verdict, code)
    report.write(tmp_path)
    read = json.loads((tmp_path / "chaos-report.json").read_text())
    assert (read["verdict"], read["seed"], read["counts"]) == (verdict, 7, {"kill": 3})
    assert "- disk: not possible here" in (tmp_path / "chaos-report.md").read_text()
