"""The filters of jobs: what is asked twice costs once."""

from __future__ import annotations

import pytest

from kairos import JobState
from kairos.errors import BadRequest
from kairos.operations.find_jobs import page
from kairos.shapes.job_filters import Filters


def test_a_state_that_is_asked_for_again_is_asked_for_once() -> None:
    filters = Filters(state=["failed", "pending", JobState.FAILED] * 10_000)
    assert filters.state == [JobState.FAILED, JobState.PENDING]
    assert filters.parameters[0] == ["failed", "pending"]


def test_a_page_works_out_what_is_due_as_often_for_many_states_as_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Filters] = []
    due = Filters.due

    def counted(self: Filters) -> JobState | None:
        looked.append(self)
        return due.fget(self)  # type: ignore[no-any-return, attr-defined]

    def looks(*states: str) -> int:
        looked.clear()
        next(page(Filters(state=list(states)), limit=10))
        return len(looked)

    monkeypatch.setattr(Filters, "due", property(counted))
    assert looks("failed") == looks(*["failed", "cancelled", "success", "expired", "waiting"] * 100)


def test_an_unknown_state_is_named_alone() -> None:
    with pytest.raises(BadRequest, match="There is no state 'lost'") as refused:
        Filters(state=[*["failed"] * 10_000, "lost"])
    assert len(refused.value.message) < 200
    with pytest.raises(BadRequest) as refused:
        Filters(state="x" * 10_000)
    assert len(refused.value.message) < 300
