"""The decision between the pick and the commit: every outcome, with and without an error behind it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.settling import BROKEN, Cart, Order, Slow, claim, decide, send

from kairos import Await, Context, Done, Next, Replay, Stop
from kairos.errors import BadRequest, StepTimeout
from kairos.fsm.lifecycle import STORED, TRANSITIONS, JobState, Status, Verb
from kairos.machine.context import Signal
from kairos.worker.settle import (
    MAX_STEPS_AHEAD,
    cancelled,
    release,
    settle,
)

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("returned", "error", "verb", "status"),
    [
        (Next("ship"), None, "next", "runnable"),
        (Replay(), None, "replay", "runnable"),
        (Await("paid"), None, "await", "awaiting_signal"),
        (Done(), None, "done", "done"),
        (Stop(), None, "stop", "failed"),
        (Next("ship"), BROKEN, "next", "runnable"),
        (Replay(), BROKEN, "retry", "runnable"),
        (Await("paid"), BROKEN, "await", "awaiting_signal"),
        (Done(), BROKEN, "done", "done"),
        (Stop(), BROKEN, "stop", "failed"),
    ],
    ids=repr,
)
def test_an_outcome_is_one_change_of_the_lifecycle(returned: Any, error: Any, verb: str, status: str) -> None:
    made = decide(returned, error)
    assert (made.verb, made.status) == (verb, status)
    end = Verb.FAIL if made.verb is Verb.RETRY else made.verb
    rows = [row for row in TRANSITIONS if row.verb == end and JobState.RUNNING in row.sources]
    assert rows, "not a change of a running job"
    if made.verb is not Verb.RETRY:
        assert [STORED[row.target] for row in rows] == [made.status]


@pytest.mark.parametrize("returned", [Next("ship"), Replay(), Await("paid"), Done(), Stop()], ids=repr)
def test_the_error_behind_an_answer_is_told(returned: Any) -> None:
    assert decide(returned, BROKEN).error == "ValueError: no"


def test_a_retry_and_a_stop_after_an_error_name_its_kind() -> None:
    assert [decide(answer, BROKEN).error_code for answer in (Replay(), Stop("x"))] == ["ValueError"] * 2
    assert decide(Stop(), StepTimeout("late")).error_code == "STEP_TIMEOUT"


def test_a_stop_gives_its_reason_and_the_error_it_answers() -> None:
    made = decide(Stop("sold out"))
    assert (made.error_code, made.error) == ("STOPPED", "sold out")
    assert decide(Stop("sold out"), BROKEN).error == "sold out (after ValueError: no)"
    assert decide(Stop("ValueError: no"), BROKEN).error == "ValueError: no"


@pytest.mark.parametrize(
    "outcome", [Next("ship", Cart(items=2)), Replay(Cart(items=2)), Await("a", state=Cart(items=2))]
)
def test_a_new_state_is_written_by_the_type_of_its_machine(outcome: Any) -> None:
    assert json.loads(decide(outcome).state or "") == {"items": 2}


@pytest.mark.parametrize("outcome", [Next("ship"), Replay(), Await("a"), Done(5), Stop()])
def test_a_state_left_out_is_left_alone(outcome: Any) -> None:
    assert decide(outcome).state is None


def test_the_times_of_an_outcome_are_lengths_of_time() -> None:
    assert decide(Replay(delay="1m")).delay == MINUTE
    made = decide(Await("a", "b", timeout="1m", then="ship"))
    assert (made.awaits, made.timeout, made.then) == (("a", "b"), MINUTE, "ship")


def test_a_result_is_json_and_no_result_is_none() -> None:
    assert decide(Done({"a": [1]})).result == '{"a":[1]}'
    assert decide(Done()).result is None


def test_what_a_function_returns_is_its_result_and_an_outcome_is_an_outcome() -> None:
    assert decide(5, action=send).result == "5"
    assert decide(None, action=send).verb is Verb.DONE
    assert decide(Replay(), action=send).verb is Verb.REPLAY


def ctx(**more: Any) -> Context[Any]:
    return Context(id=7, action="order", version=1, step="charge", attempt=0, state=Cart(), **more)


def test_the_signals_a_step_took_are_consumed_by_its_commit() -> None:
    asked = ctx(inbox=(Signal(1, "a", {}), Signal(2, "b", {}), Signal(3, "a", {})))
    assert [found and found.id for found in (asked.take("a"), asked.take("a"), asked.take("a"))] == [
        1,
        3,
        None,
    ]
    assert decide(Done(), ctx=asked).consumed == [1, 3]
    assert cancelled(claim(), asked).consumed == [1, 3]


def test_children_are_born_by_the_commit_and_reply_to_their_parent() -> None:
    asked = ctx()
    asked.spawn(send.call(1), send.call(2), reply="sent")
    asked.spawn(send.call(3))
    assert [child.options.reply_to for child in decide(Done(), ctx=asked).children] == [(7, "sent")] * 2 + [
        None
    ]


@pytest.mark.parametrize("returned", [Stop(), 5, Next("fly")])
def test_a_failed_step_has_no_children(returned: Any) -> None:
    asked = ctx()
    asked.spawn(send.call(1))
    assert not decide(returned, ctx=asked).children


@pytest.mark.parametrize("wrong", [send, 5, None])
def test_only_calls_can_be_spawned(wrong: Any) -> None:
    with pytest.raises(BadRequest, match="call"):
        ctx().spawn(wrong)


def test_a_machine_runs_ahead_only_by_next_and_only_so_far() -> None:
    assert decide(Next("ship")).ahead
    assert not decide(Replay()).ahead
    assert not decide(Next("only"), action=Slow).ahead
    far = claim()
    far.steps_ahead = MAX_STEPS_AHEAD
    assert not settle(far, Order.machine, Next("ship")).ahead


def test_a_job_handed_back_counts_no_attempt_and_says_why() -> None:
    made = release(claim(), "key busy", MINUTE)
    assert (made.verb, made.status, made.delay, made.error) == (
        Verb.RELEASE,
        Status.RUNNABLE,
        MINUTE,
        "key busy",
    )


def test_a_step_that_honoured_a_cancel_is_a_yield() -> None:
    made = cancelled(claim())
    assert (made.verb, made.status, tuple(made.consumed)) == (Verb.YIELD, Status.CANCELLED, ())
