"""Every way a key's line can move, walked in memory: one runs, in order, and nobody is forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.model_checking.checker import Explored, Found, check
from tests.model_checking.key_model import (
    COMING,
    TOGETHER,
    Key,
    Line,
    in_order,
    nobody_is_forgotten,
    one_runs,
    without_the_sweep,
)

MUTANTS = {
    "no lock": "two run at once",
    "no sweep": "those on hold are forgotten",
}


def immortal(key: Key, line: Line) -> Iterator[tuple[str, Line]]:
    return ((name, after) for name, after in key(line) if not name.endswith("dies"))


@pytest.mark.parametrize("line", [TOGETHER, COMING])
def test_no_order_of_pickers_inserts_and_deaths_breaks_the_line(line: Line) -> None:
    walked = check(line, Key(), [one_runs, nobody_is_forgotten(Key())])
    assert isinstance(walked, Explored)
    assert walked.states > 200


def test_those_who_are_in_line_run_in_its_order() -> None:
    assert isinstance(check(TOGETHER, Key(), [in_order]), Explored)


def test_while_nobody_dies_the_commits_alone_keep_the_line_going() -> None:
    walked = check(TOGETHER, lambda line: immortal(Key(), line), [without_the_sweep])
    assert isinstance(walked, Explored)


def test_only_the_sweep_sees_an_insert_behind_a_line_that_ran_empty() -> None:
    found = check(COMING, lambda line: immortal(Key(), line), [without_the_sweep])
    assert isinstance(found, Found)
    assert found.trace[-1] == "2 is committed"


def test_an_opening_that_does_not_wait_for_the_picker_leaves_the_line_to_the_sweep() -> None:
    found = check(TOGETHER, lambda line: immortal(Key("opens under a picker"), line), [without_the_sweep])
    assert isinstance(found, Found)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_guard_left_out_breaks_the_line(mutant: str) -> None:
    key = Key(mutant)
    found = check(COMING, key, [one_runs, nobody_is_forgotten(key)])
    assert isinstance(found, Found)
    assert found.broken == MUTANTS[mutant], found.trace
