"""Backoff: retry as a policy in user land. Its delays are in tests/boundaries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kairos import Backoff, Replay, Stop
from kairos.errors import KairosError


@pytest.mark.parametrize(
    "arguments",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": 2.5},
        {"attempts": True},
        {"factor": 0.99},
        {"factor": float("nan")},
        {"factor": float("inf")},
        {"jitter": -0.01},
        {"jitter": 1.01},
        {"jitter": float("nan")},
        {"base": -1},
        {"base": "soon"},
        {"cap": -1},
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_policy_that_could_not_work_is_refused_when_it_is_written(arguments: dict[str, Any]) -> None:
    with pytest.raises(KairosError):
        Backoff(**arguments)


def test_an_error_is_answered_with_a_replay_until_the_attempts_are_spent() -> None:
    policy = Backoff(attempts=3, base=1, jitter=0)
    answers = [policy(ValueError("no"), SimpleNamespace(attempt=attempt)) for attempt in range(4)]
    assert [type(answer) for answer in answers] == [Replay, Replay, Stop, Stop]
    assert answers[2].reason == "ValueError: no"
