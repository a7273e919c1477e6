"""The delays of a backoff at every size of attempt, and the edges of its jitter."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from kairos import Backoff

HOUR = timedelta(hours=1)
ATTEMPTS = [0, 1, 2, 11, 12, 31, 32, 63, 64, 1000, 1023, 1024, 2**31 - 1]


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("factor", [1, 2, 2.5, 1e300])
def test_a_delay_grows_up_to_its_cap_and_never_overflows(attempt: int, factor: float) -> None:
    delay = Backoff(base=1, factor=factor, cap="1h", jitter=0).delay(attempt)
    grown = 1.0
    for _ in range(min(attempt, 64)):  # 1.1 ** 64 would not be past the cap, but the factors here are
        grown = min(grown * factor, 3600.0)
    assert delay == timedelta(seconds=grown)


def test_the_cap_is_reached_at_the_first_power_past_it() -> None:
    policy = Backoff(base=1, factor=2, cap=4096, jitter=0)
    assert [policy.delay(attempt).total_seconds() for attempt in (11, 12, 13)] == [2048, 4096, 4096]


@pytest.mark.parametrize("jitter", [0, 0.1, 0.5, 1])
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_jitter_stays_within_its_share_and_under_the_cap(
    attempt: int, jitter: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Backoff(base=10, jitter=0).delay(attempt)
    policy = Backoff(base=10, jitter=jitter)
    monkeypatch.setattr(random, "uniform", lambda low, high: low)
    assert policy.delay(attempt) == plain * (1 - jitter)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    assert policy.delay(attempt) == min(plain * (1 + jitter), HOUR)


def test_jobs_that_failed_together_do_not_come_back_together() -> None:
    for attempt, low, high in ((0, 9, 11), (1000, 3240, 3600)):
        delays = [Backoff(base=10).delay(attempt).total_seconds() for _ in range(50)]
        assert len(set(delays)) > 40
        assert all(low <= delay <= high for delay in delays)


def test_no_base_is_no_delay_at_all() -> None:
    assert {Backoff(base=0).delay(attempt) for attempt in ATTEMPTS} == {timedelta(0)}
