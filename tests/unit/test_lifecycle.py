"""The table of states and transitions, and what is read from it."""

from __future__ import annotations

import pytest

from kairos import JobState, can_transition
from kairos.fsm.lifecycle import (
    LIVE,
    LIVE_STATUSES,
    SPEC,
    STORED,
    TERMINAL,
    TERMINAL_STATUSES,
    TRANSITIONS,
    Status,
    Verb,
    stored_pairs,
)
from kairos.fsm.state_machine import Edge, Spec
from kairos.fsm.state_styles import STATE_STYLES

# The table as the design gives it, written once more on purpose: a change of either must be a decision.
DESIGN = """
pick    pending                    running   worker
next    running                    pending   worker
replay  running                    scheduled worker
fail    running                    failed    worker
retry   failed                     scheduled worker
await   running                    waiting   worker
done    running                    success   worker
stop    running                    failed    worker
yield   running                    cancelled worker
reap    running                    pending   reaper
release running                    pending   worker
wake    waiting                    pending   sender
timeout waiting                    pending   sweeper
cancel  scheduled,pending,waiting  cancelled client
run_now scheduled                  pending   client
snooze  scheduled,pending          scheduled client
expire  scheduled,pending          expired   sweeper
"""
ROWS = [line.split() for line in DESIGN.split("\n") if line]
AT_REST = {
    (source, target) for verb, sources, target, _ in ROWS for source in sources.split(",") if verb != "retry"
}


def test_every_state_has_a_look_in_the_dashboard_and_in_the_terminal() -> None:
    assert set(STATE_STYLES) == set(JobState)


def test_the_table_is_the_one_of_the_design() -> None:
    assert [[row.verb, ",".join(row.sources), row.target, row.by] for row in TRANSITIONS] == ROWS
    assert [row.verb for row in TRANSITIONS] == list(Verb)
    assert all(row.because for row in TRANSITIONS)


def test_the_table_is_sound() -> None:
    assert (SPEC.unknown(), SPEC.unreachable()) == ((), ())
    assert not [edge for state in TERMINAL for edge in SPEC.leaving(state) if edge.verb != Verb.RETRY]


@pytest.mark.parametrize("current", JobState)
def test_a_job_at_rest_can_go_where_the_table_says_and_nowhere_else(current: JobState) -> None:
    assert {target for target in JobState if can_transition(current, target)} == {
        target for source, target in AT_REST if source == current
    }


def test_states_may_be_given_as_text_and_unknown_ones_are_refused() -> None:
    assert can_transition("scheduled", "pending")
    for pair in (("scheduled", "nowhere"), ("nowhere", "pending")):
        with pytest.raises(ValueError, match="nowhere"):
            can_transition(*pair)


def test_an_automatic_retry_exists_only_inside_the_commit_of_its_failure() -> None:
    assert [row.verb for row in TRANSITIONS if row.within is not None] == [Verb.RETRY]
    assert not can_transition("failed", "scheduled")
    assert "scheduled" in [edge.target for edge in SPEC.leaving("failed")]


def test_every_state_is_live_or_terminal_and_stored_as_one_status() -> None:
    assert list(JobState) == [*LIVE, *TERMINAL]
    assert set(STORED.values()) == set(Status)
    assert set(LIVE_STATUSES) | TERMINAL_STATUSES == set(Status)
    assert {STORED[state] for state in LIVE} == set(LIVE_STATUSES)


def test_the_stored_pairs_are_the_table_seen_through_the_stored_status() -> None:
    wanted = {
        (STORED[JobState(source)], STORED[JobState(target)])
        for source, target in AT_REST
        if STORED[JobState(source)] != STORED[JobState(target)]
    }
    assert set(stored_pairs()) == wanted
    assert len(stored_pairs()) == len(wanted) == 10


def test_a_spec_tells_what_is_wrong_with_it() -> None:
    spec = Spec("m", ("a", "b", "c"), ("a",), frozenset({"c"}), (Edge("go", "a", "b"), Edge("go", "b", "x")))
    assert spec.unreachable() == ("c",)
    assert spec.unknown() == ("x",)
    assert [edge.target for edge in spec.leaving("a")] == ["b"]
    assert [edge.target for edge in spec.leaving("b")] == ["x"]
