"""Unique keys: who holds one, for how long, and what the next one to ask is told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.actions import in_state

from kairos import JobState, Kairos, Replay
from kairos.errors import Duplicate
from kairos.testing import drain

HELD = {
    "queued": {"scheduled", "pending"},
    "live": {"scheduled", "pending", "running", "waiting"},
    "ever": set(JobState),
}


@pytest.mark.parametrize("scope", HELD)
@pytest.mark.parametrize("state", JobState)
async def test_a_key_is_taken_in_the_states_of_its_scope_and_free_in_the_others(
    app: Kairos, state: JobState, scope: str
) -> None:
    holder = await in_state(app, state, unique="order:42", unique_scope=scope)
    again = app.action("send").options(unique="order:42", unique_scope=scope)
    if state in HELD[scope]:
        with pytest.raises(Duplicate) as refused:
            await again.enqueue(user=7)
        assert (refused.value.job.id, refused.value.job.state) == (holder.id, state)
        assert refused.value.message == f"Job {holder.id} holds the unique key 'order:42' and is {state}."
        found = await again.options(if_taken="return").enqueue(user=7)
        assert (found.id, found.is_new, found.action) == (holder.id, False, holder.action)
        assert len(await app.jobs()) == 1
    else:
        job = await again.enqueue(user=7)
        assert job.is_new
        assert job.id != holder.id


async def test_a_key_is_free_the_instant_its_holder_ends(app: Kairos) -> None:
    echo = app.action("echo").options(unique="u")
    first = await echo.enqueue()
    await drain(app)
    second = await echo.enqueue()
    await app.cancel(second.id)
    third = await echo.options(ttl=0).enqueue()
    await drain(app)
    fourth = await echo.enqueue()
    assert len({first.id, second.id, third.id, fourth.id}) == 4


async def test_a_queued_key_stays_free_when_its_job_goes_back_in_line(app: Kairos) -> None:
    """Left once, never entered again: the second holder cannot be met by the first."""
    send = app.action("fail").options(unique="u", unique_scope="queued")

    @app.job(retry=lambda error, ctx: Replay(delay=60))
    async def flaky() -> None:
        raise ValueError("again")

    first = await flaky.options(unique="u", unique_scope="queued").enqueue()
    await drain(app)
    assert (await app.get(first.id)).state == "scheduled"
    assert (await send.enqueue()).is_new


async def test_a_batch_tells_which_were_new_which_were_there_and_their_ids(app: Kairos) -> None:
    echo = app.action("echo")

    def call(value: int, unique: str | None) -> Any:
        return echo.options(unique=unique).call(value)

    outside = await app.enqueue(call(0, "a"))
    asked = [(1, None), (2, "b"), (3, "a"), (4, "b"), (5, None), (6, "a"), (7, "c"), (8, "b")]
    jobs = await app.enqueue_many(call(*each) for each in asked)
    assert [job.is_new for job in jobs] == [True, True, False, False, True, False, True, False]
    assert [job.input["value"] for job in jobs] == [1, 2, 0, 2, 5, 0, 7, 2]
    assert jobs[2].id == jobs[5].id == outside.id
    assert jobs[1].id == jobs[3].id == jobs[7].id
    assert len(await app.jobs()) == 5
    assert all(job.transition for job in jobs)


async def test_a_batch_of_nothing_but_duplicates_inserts_nothing(app: Kairos) -> None:
    echo = app.action("echo").options(unique="u")
    (first,) = await app.enqueue_many([echo.call(1)])
    again = await app.enqueue_many([echo.call(2)] * 3)
    assert [(job.id, job.is_new) for job in again] == [(first.id, False)] * 3


async def test_a_batch_keeps_its_order_whatever_its_unique_keys(app: Kairos) -> None:
    ran: list[int] = []

    @app.job
    async def act(number: int) -> None:
        ran.append(number)

    calls = [act.options(key="k", unique=name).call(n) for n, name in enumerate(["z", None, "a", "m", None])]
    jobs = await app.enqueue_many(calls)
    assert [job.id for job in jobs] == sorted(job.id for job in jobs)
    await drain(app)
    assert ran == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "A"),
        ("a", "a "),
        ("é", "e\u0301"),
        ("1", "1.0"),
        ("%", "_"),
        ("a\\", "a"),
        ('"', '""'),
        ("ß", "ss"),
    ],
)
async def test_keys_are_equal_only_when_every_byte_is(app: Kairos, one: str, other: str) -> None:
    echo = app.action("echo")
    assert (await echo.options(unique=one).enqueue()).is_new
    assert (await echo.options(unique=other).enqueue()).is_new
    for key in (one, other):
        with pytest.raises(Duplicate):
            await echo.options(unique=key).enqueue()


async def test_a_retry_of_an_ended_job_takes_its_key_again_or_is_refused(app: Kairos) -> None:
    failed = await in_state(app, "failed", unique="u")
    again = await app.retry(failed.id)
    assert (again.retry_of, again.unique, again.state) == (failed.id, "u", "pending")
    with pytest.raises(Duplicate) as refused:
        await app.retry(failed.id)
    assert refused.value.job.id == again.id


async def test_a_job_is_addressed_by_the_key_it_holds(app: Kairos) -> None:
    waiting = await in_state(app, "waiting", unique="order:42")
    assert await app.signal("order:42", "go", {"a": 1}) == "woke"
    await drain(app)
    assert await app.result(waiting.id) == {"a": 1}
