"""Every mutant is convicted, each time and by name; the sound engine is acquitted of the same run."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from chaos.checker import RULES, broken, check
from chaos.mutants import MUTANTS, Mutant, OutdatedMutant
from tests.faults import scripted_runs
from tests.faults.scripted_runs import judge, scripted
from tests.interleavings import test_keys
from tests.interleavings.conftest import every_order, jobs, orders
from tests.shared_database import quiet
from tests.worker.world import until

from kairos import Kairos
from kairos.embedded import Server
from kairos.store.query import statements

__all__ = ["every_order", "jobs", "orders", "quiet"]

# Who is convicted by which rule, and by which run.
CONVICTED = {
    "unfenced": ("steps_are_committed_once_and_in_order", scripted_runs.zombie),
    "statusonly": ("steps_are_committed_once_and_in_order", scripted_runs.zombie),
    "noholder": ("steps_are_committed_once_and_in_order", scripted_runs.lease_given_twice),
    "naivesig": ("no_job_waits_for_a_delivered_signal", scripted_runs.signal_while_it_runs),
    "greedy": ("accepted_jobs_end", scripted_runs.second_signal_while_the_first_is_taken),
    "cron": ("each_tick_makes_one_job", scripted_runs.tick_decided_twice),
    "ttl": ("ttl_is_exact", scripted_runs.last_microsecond_of_a_ttl),
    "ttl_late": ("ttl_is_exact", scripted_runs.instant_at_which_a_ttl_closes),
    "seq_cursor": ("streams_are_complete", scripted_runs.change_that_becomes_visible_late),
    "local_clock": ("nothing_starts_before_it_is_due", scripted_runs.hour_before_it_is_due),
    "reap_no_attempt_bump": ("attempts_are_bounded", scripted_runs.poison_again_and_again),
    "greedy_reaper": ("only_lost_jobs_are_reaped", scripted_runs.reaper_beside_a_healthy_worker),
}
ELSEWHERE = {"noarb", "ack_before_commit", "notify_only"}


def test_every_mutant_is_convicted_somewhere_by_a_rule_there_is() -> None:
    assert set(CONVICTED) | ELSEWHERE == set(MUTANTS)
    rules = {rule.__name__ for each in RULES.values() for rule in each}
    assert {rule for rule, _ in CONVICTED.values()} <= rules


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_still_finds_what_it_breaks(name: str) -> None:
    sql = dict(statements("kairos"))
    assert MUTANTS[name].apply(sql) != sql


def test_a_mutant_whose_text_is_gone_says_so() -> None:
    with pytest.raises(OutdatedMutant, match=r"pick_jobs\.sql has no 'no such text' any more"):
        Mutant("", (("pick_jobs", "no such text", ""),)).apply(dict(statements("kairos")))


@pytest.mark.parametrize("name", CONVICTED)
async def test_a_mutant_is_convicted_by_the_rule_it_breaks(database: str, tmp_path: Path, name: str) -> None:
    rule, run = CONVICTED[name]
    async with scripted(database, tmp_path / "run", MUTANTS[name]) as script:
        await run(script)
    assert rule in broken(await judge(database, script))


@pytest.mark.parametrize("name", CONVICTED)
async def test_the_sound_engine_is_acquitted_of_the_same_run(
    database: str, tmp_path: Path, name: str
) -> None:
    async with scripted(database, tmp_path / "run", None) as script:
        await CONVICTED[name][1](script)
    record = await judge(database, script)
    assert check(record) == []
    assert record.jobs and record.audit


async def test_a_key_without_lock_and_arbiter_is_convicted(jobs, orders, every_order) -> None:
    mutant = MUTANTS["noarb"]
    for statement in mutant.schema:
        await jobs.fetch(statement)
    orders.sql = mutant.apply(orders.sql)
    with pytest.raises(AssertionError) as found:
        await test_keys.test_a_picker_with_an_old_view_of_the_line_does_not_get_the_key_too(jobs, every_order)
    assert any(note.startswith("in the order: ") for note in found.value.__notes__)


@pytest.mark.parametrize("name", [None, "ack_before_commit"])
async def test_an_enqueue_acknowledged_before_its_commit_is_convicted(
    tmp_path: Path, name: str | None
) -> None:
    """The last enqueue before a crash: nobody else's commit takes it to the disk."""
    mutant = MUTANTS[name] if name else None
    with Server(tmp_path / "postgres", ephemeral=True, settings={"wal_writer_delay": "10s"}) as server:
        await Kairos(server.url()).migrate()
        async with scripted(server.url(), tmp_path / "run", mutant) as script:
            await script.accept()
            for event in script.journal.events("ack"):
                script.journal.write("ack", **{**event, "e": "ack", "unserved": True})
            pid = int((server.data / "postgres" / "postmaster.pid").read_text().splitlines()[0])
            os.kill(pid, signal.SIGQUIT)
            await until(lambda: not server.is_alive())
            await asyncio.to_thread(server.start)
        said = check(await judge(server.url(), script))
    assert any("was accepted and does not exist" in each for each in said) == (name is not None)


@pytest.mark.parametrize("name", [None, "notify_only"])
async def test_a_worker_that_looks_only_when_notified_is_convicted(
    database: str, tmp_path: Path, name: str | None
) -> None:
    mutant = MUTANTS[name] if name else None
    async with scripted(database, tmp_path / "run", mutant) as script:
        app = script.app
        settings = {"poll": 0.1, **(mutant.worker if mutant else {})}
        async with app.worker(**settings) as worker:
            await until(lambda: worker.listener.is_receiving)
            await worker.picker.at_rest()
            async with app.store.connection() as connection:
                await app.on(connection, hint=False).enqueue(app.action("tick").call())
            drained = await _ended(app, within=2.0 if mutant else 30.0)
    assert ("the_run_drains" in broken(await judge(database, script, drained=drained))) == (name is not None)


async def _ended(app: Kairos, within: float) -> bool:
    """Whether the one job ends in time: a mutant would never begin it."""
    try:
        async with asyncio.timeout(within):
            while (await app.jobs())[0].state != "success":
                await asyncio.sleep(0.02)
    except TimeoutError:
        return False
    return True
