"""Outcomes, handles and errors that break the contract: each a named failure, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.settling import BROKEN, Order, Slow, claim, decide, send

from kairos import Await, Done, Next, Replay, Stop
from kairos.fsm.lifecycle import Status, Verb
from kairos.worker.settle import error_code, error_text, failure


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("mute")


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("mute")


CIRCLE: dict[str, Any] = {}
CIRCLE["again"] = CIRCLE


@pytest.mark.parametrize(
    ("returned", "code"),
    [
        (None, "BAD_OUTCOME"),
        (5, "BAD_OUTCOME"),
        ("ship", "BAD_OUTCOME"),
        (Next, "BAD_OUTCOME"),
        (Next("fly"), "UNKNOWN_STEP"),
        (Next("charge"), "UNKNOWN_STEP"),
        (Next(None), "UNKNOWN_STEP"),  # type: ignore[arg-type]
        (Next([]), "TypeError"),  # type: ignore[arg-type]
        (Await("a", timeout=1, then="fly"), "UNKNOWN_STEP"),
        (Await("a", timeout="soon"), "INVALID"),
        (Replay(delay=-1), "INVALID"),
        (Next("ship", {"items": "many"}), "BAD_VALUE"),
        (Next("ship", 5), "BAD_VALUE"),
        (Replay(CIRCLE), "BAD_VALUE"),
        (Done(float("nan")), "BAD_VALUE"),
        (Done("\x00"), "BAD_VALUE"),
        (Done(...), "BAD_VALUE"),
        (Done(CIRCLE), "BAD_VALUE"),
        (Stop(Mute()), "RuntimeError"),
    ],
    ids=lambda value: repr(value)[:40] if not isinstance(value, Stop) else "mute",
)
def test_an_outcome_that_breaks_the_contract_is_a_named_failure(returned: Any, code: str) -> None:
    made = decide(returned)
    assert (made.verb, made.status, made.error_code) == (Verb.STOP, Status.FAILED, code)
    assert made.error


@pytest.mark.parametrize("action", [Order, send])
@pytest.mark.parametrize("answer", [None, 5])
def test_a_handle_that_answers_nonsense_is_a_named_failure_that_tells_the_first_error(
    action: Any, answer: Any
) -> None:
    made = decide(answer, BROKEN, action=action)
    assert (made.verb, made.status, made.error_code) == (Verb.STOP, Status.FAILED, "BAD_OUTCOME")
    assert "ValueError: no" in (made.error or "")


def test_a_state_that_holds_a_nan_anywhere_is_a_named_failure() -> None:
    made = decide(Replay({"x": {"y": float("nan")}}), action=Slow)
    assert (made.status, made.error_code) == (Status.FAILED, "BAD_VALUE")


@pytest.mark.parametrize(
    "error", [MuteError(), ValueError("a\x00b\ud800"), ValueError("é" * 9000), ValueError()]
)
def test_the_words_of_an_error_can_always_be_stored(error: Exception) -> None:
    for made in (failure(claim(), error), decide(Stop(), error), decide(Replay(), error)):
        assert made.error is not None
        assert "\x00" not in made.error
        assert 0 < len(made.error.encode()) <= 16_000
    assert error_text(error).startswith(type(error).__name__)
    assert error_code(error) == type(error).__name__
