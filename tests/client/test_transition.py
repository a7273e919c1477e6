"""`Job.transition`: every state towards every state, and what is told when there is no way."""

from __future__ import annotations

import pytest
from tests.client.actions import in_state

from kairos import InvalidTransition, JobState, Kairos
from kairos.errors import BadRequest
from kairos.fsm.requests import can

ALLOWED = {
    ("scheduled", "pending"): "pending",
    ("scheduled", "cancelled"): "cancelled",
    ("pending", "cancelled"): "cancelled",
    ("waiting", "cancelled"): "cancelled",
    ("scheduled", "scheduled"): "scheduled",  # put off
    ("pending", "scheduled"): "scheduled",
    ("running", "cancelled"): "running",  # asked to stop: its step honours that
}


@pytest.mark.parametrize("state", JobState)
async def test_a_job_goes_where_a_person_may_send_it_and_nowhere_else(app: Kairos, state: JobState) -> None:
    for target in JobState:
        job = await in_state(app, state)
        if (state, target) in ALLOWED:
            moved = await job.transition(target, **({"delay": "1d"} if target == "scheduled" else {}))
            assert (moved.id, moved.state) == (job.id, ALLOWED[state, target])
            assert (moved.cancel_requested_at is not None) == (target == "cancelled")
            continue
        with pytest.raises(InvalidTransition) as refused:
            await job.transition(target)
        assert (refused.value.current, refused.value.target) == (state, target)
        assert refused.value.allowed == can(state) == job.can
        for word in (f"Job {job.id} is {state}", f"cannot become {target}", *can(state)):
            assert word in refused.value.message
        assert (await app.get(job.id)).state == state


async def test_what_has_happened_meanwhile_decides(app: Kairos) -> None:
    job = await in_state(app, "scheduled")
    await app.cancel(job.id)
    for target in ("pending", "cancelled"):
        with pytest.raises(InvalidTransition) as refused:
            await job.transition(target)
        assert (refused.value.current, refused.value.allowed) == ("cancelled", ("retry", "delete"))


async def test_there_is_no_way_to_a_state_that_is_none(app: Kairos) -> None:
    job = await in_state(app, "pending")
    with pytest.raises(BadRequest, match="There is no state 'done'"):
        job.transition("done")


async def test_every_job_that_an_app_gives_out_can_transition(app: Kairos) -> None:
    echo = app.action("echo").options(delay=60)
    one = await echo.enqueue()
    (two,) = await app.enqueue_many([echo.call()])
    three = await app.get((await echo.enqueue()).id)
    four = (await app.jobs(limit=1))[0]
    for job in (one, two, three):
        assert (await job.transition("cancelled")).state == "cancelled"
    assert four.id == three.id
    with pytest.raises(InvalidTransition):
        await four.transition("cancelled")


async def test_cancelling_twice_keeps_the_first_reason(app: Kairos) -> None:
    job = await in_state(app, "running")
    first = await app.cancel(job.id, reason="one")
    second = await app.cancel(job.id, reason="two")
    assert (second.cancel_reason, second.cancel_requested_at) == ("one", first.cancel_requested_at)


@pytest.mark.parametrize("state", JobState)
async def test_only_a_job_that_ended_is_retried_and_as_a_new_one(app: Kairos, state: JobState) -> None:
    job = await in_state(app, state, priority=3, key="k", tags=["t"])
    if not job.is_terminal:
        with pytest.raises(InvalidTransition) as refused:
            await app.retry(job.id)
        assert (refused.value.target, refused.value.allowed) == ("retry", can(state))
        return
    again = await app.retry(job.id)
    assert (again.retry_of, again.state, again.attempt) == (job.id, "pending", 0)
    for name in ("action", "version", "input", "queue", "priority", "key", "tags"):
        assert getattr(again, name) == getattr(job, name), name
    assert (await app.get(job.id)).state == state
