"""Every life a job can have, walked in memory: the laws hold, and each guard is needed for one of them."""

from __future__ import annotations

import pytest
from tests.model_checking.checker import Explored, Found, check
from tests.model_checking.job_model import LAWS, Engine, Life

from kairos.fsm.lifecycle import Status, stored_pairs

# A guard left out, the law it breaks, and how many steps the shortest way there takes.
MUTANTS = {
    "no fence": ("a zombie committed", 3),
    "fenced by status": ("a zombie committed", 4),
    "fenced by lease alone": ("a zombie committed", 3),
    "no second look": ("it waits for a signal that is there", 3),
    "wakes by what it saw": ("it woke by what it had already seen", 3),
    "picks after its TTL": ("picked after its TTL closed", 2),
    "expires while running": ("executing became expired", 3),
    "cancel forgotten": ("it was asked to stop and went on", 3),
}


def test_no_life_breaks_a_law() -> None:
    walked = check(Life(), Engine(), LAWS)
    assert isinstance(walked, Explored)
    assert walked.states > 1000


def test_the_model_lives_every_change_the_lifecycle_allows_but_a_failure() -> None:
    walked = check(Life(), Engine(), ())
    assert isinstance(walked, Explored)
    lived = {(before.status, after.status) for before, _, after in walked.steps} - {(s, s) for s in Status}
    assert lived == {pair for pair in stored_pairs() if pair[1] is not Status.FAILED}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_guard_left_out_is_found_by_the_shortest_way(mutant: str) -> None:
    found = check(Life(), Engine(mutant), LAWS)
    broken, steps = MUTANTS[mutant]
    assert isinstance(found, Found)
    assert found.broken.startswith(broken)
    assert len(found.trace) == steps, found.trace
