"""The chaos runner in small: a sound engine survives it, and a broken one does not get past the checker."""

from __future__ import annotations

import pytest
from chaos.harness import run
from chaos.program import MUTANTS

from kairos.store.query import statements

EVERY = {"kill": 1.0, "freeze": 1.0, "cut": 1.0}


async def test_workers_killed_and_frozen_inside_their_steps_break_no_promise(database, tmp_path):
    report = await run(database, tmp_path, seconds=8, seed=1, faults=EVERY, least=3)
    assert report.violations == []
    counts = report.counts
    # It has to have been in danger.
    assert counts["kill"] + counts["freeze"] >= 3 and counts["reaps"] >= 1 and counts["jobs done"] >= 10
    assert (counts["workers alive at the end"], counts["dead loops"]) == (3, 0)


async def test_an_engine_without_its_fence_is_found_out(database, tmp_path):
    report = await run(
        database, tmp_path, seconds=8, seed=3, faults={"freeze": 1.0}, mutant="unfenced", least=3
    )
    assert report.verdict == "INVALID"
    rules = {said.partition(":")[0] for said in report.violations}
    assert rules & {"steps_are_committed_once_and_in_order", "effects_come_with_their_commit"}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_still_finds_what_it_breaks(mutant):
    sql = dict(statements("kairos"))
    assert MUTANTS[mutant](dict(sql)) != sql
