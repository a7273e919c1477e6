"""Backoff: retry as a policy in user land. Its delays are in tests/boundaries."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kairos import Backoff, Replay, Stop
from kairos.errors import KairosError
from kairos.machine.backoff import read_policy, write_policy


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


class Gone(ConnectionError):
    pass


@pytest.mark.parametrize(
    ("policy", "error", "again"),
    [
        (Backoff(only=ConnectionError), ConnectionError(), True),
        (Backoff(only=ConnectionError), Gone(), True),
        (Backoff(only=(KeyError, OSError)), Gone(), True),
        (Backoff(only=ConnectionError), ValueError(), False),
        (Backoff(never=ConnectionError), Gone(), False),
        (Backoff(never=[Gone]), ConnectionError(), True),
        (Backoff(only=ConnectionError, never=Gone), Gone(), False),
        (Backoff(only="Gone"), Gone(), True),
        (Backoff(only=f"{Gone.__module__}.Gone"), Gone(), True),
    ],
    ids=str,
)
def test_only_and_never_choose_the_errors_that_are_retried(
    policy: Backoff, error: Exception, again: bool
) -> None:
    for each in (policy, read_policy(write_policy(policy))):
        assert each is not None
        answer = each(error, SimpleNamespace(attempt=0, since_start=None))
        assert isinstance(answer, Replay) is again


@pytest.mark.parametrize(
    ("since_start", "again"),
    [(timedelta(0), True), (timedelta(seconds=50), True), (timedelta(seconds=51), False), (None, True)],
)
def test_within_ends_the_retries_when_the_next_would_begin_too_late(
    since_start: timedelta | None, again: bool
) -> None:
    policy = Backoff(base=10, jitter=0, within="1m")
    answer = policy(ValueError(), SimpleNamespace(attempt=0, since_start=since_start))
    assert isinstance(answer, Replay) is again


@pytest.mark.parametrize("wrong", [{"only": 5}, {"never": [int]}, {"only": ""}, {"within": "soon"}])
def test_filters_that_name_no_errors_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(KairosError, match=next(iter(wrong))):
        Backoff(**wrong)


def test_a_policy_without_filters_is_stored_as_before() -> None:
    assert Backoff().stored() == Backoff().as_json()
