"""The five outcomes as values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from typing import Any

import pytest

from kairos import Await, Done, Next, Replay, Stop
from kairos.errors import BadOutcome, BadRequest
from kairos.machine.outcome import UNCHANGED


@pytest.mark.parametrize("outcome", [Next("a"), Replay(), Await("paid"), Done(), Stop()])
def test_an_outcome_cannot_be_changed(outcome: Any) -> None:
    for field in fields(outcome):
        with pytest.raises(FrozenInstanceError):
            setattr(outcome, field.name, 1)


def test_equal_outcomes_are_equal() -> None:
    assert Await("a", "b", timeout=5) == Await("a", "b", timeout=5)
    assert Next("a", 1) != Next("a", 2)
    assert Replay(delay="1m").wait == timedelta(minutes=1)


@pytest.mark.parametrize("outcome", [Next("a"), Replay(), Await("paid")])
def test_a_state_left_out_is_unchanged_and_none_is_a_state(outcome: Any) -> None:
    assert outcome.state is UNCHANGED
    assert repr(UNCHANGED) == "UNCHANGED"
    assert Replay(state=None).state is None


@pytest.mark.parametrize("names", [(), ("",), ("a", ""), (None,), (5,)])
def test_an_await_names_its_signals(names: tuple[Any, ...]) -> None:
    with pytest.raises(BadOutcome, match="names"):
        Await(*names)


def test_an_await_with_a_follow_up_step_has_a_deadline() -> None:
    with pytest.raises(BadOutcome, match="timeout"):
        Await("paid", then="give_up")
    waiting = Await("paid", timeout="5m", then="give_up")
    assert (waiting.wait, waiting.then) == (timedelta(minutes=5), "give_up")
    assert Await("paid").wait is None


@pytest.mark.parametrize("delay", [-1, "soon", None])
def test_a_delay_that_makes_no_sense_is_refused_when_it_is_read(delay: Any) -> None:
    with pytest.raises(BadRequest):
        _ = Replay(delay=delay).wait
