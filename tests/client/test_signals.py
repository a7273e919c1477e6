"""Signals as a sender and a reader see them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.actions import in_state

from kairos import Await, Context, JobState, Kairos
from kairos.errors import BadRequest, BadValue, Conflict, NotFound
from kairos.testing import drain


@pytest.mark.parametrize("state", JobState)
async def test_a_live_job_takes_a_signal_and_an_ended_one_refuses_it(app: Kairos, state: JobState) -> None:
    job = await in_state(app, state)
    if not job.is_terminal:
        assert await app.signal(job.id, "go") == ("woke" if state == "waiting" else "delivered")
        assert [each.name for each in await app.signals(job.id)] == ["go"]
        return
    with pytest.raises(Conflict, match=f"Job {job.id} is {state} and takes no more signals"):
        await app.signal(job.id, "go")
    assert await app.signals(job.id) == []


async def test_the_same_signal_twice_is_one(app: Kairos) -> None:
    job = await in_state(app, "waiting")
    answers = [await app.signal(job.id, "note", n, dedup_key="evt-7") for n in range(3)]
    assert answers == ["delivered", "duplicate", "duplicate"]
    (kept,) = await app.signals(job.id)
    assert (kept.payload, kept.dedup_key, kept.consumed_at) == (0, "evt-7", None)


async def test_a_consumed_signal_is_kept_and_still_a_duplicate(app: Kairos) -> None:
    @app.job
    async def act(ctx: Context) -> Any:
        ctx.take("go")
        return Await("more")

    job = await act.enqueue()
    await app.signal(job.id, "go", dedup_key="once")
    await drain(app)
    (kept,) = await app.signals(job.id)
    assert kept.consumed_at is not None
    assert await app.signal(job.id, "go", dedup_key="once") == "duplicate"


@pytest.mark.parametrize("target", [77777, "order:42", 0, -5, 2**63])
async def test_a_signal_to_nobody_is_refused(app: Kairos, target: Any) -> None:
    with pytest.raises(NotFound):
        await app.signal(target, "go")


@pytest.mark.parametrize(
    ("asked", "error", "field"),
    [
        ({"name": ""}, BadRequest, "name"),
        ({"name": None}, BadRequest, "name"),
        ({"name": "a\x00"}, BadRequest, "name"),
        ({"payload": float("nan")}, BadValue, "payload"),
        ({"payload": {"a": "\x00"}}, BadValue, "payload.a"),
        ({"payload": ...}, BadValue, "payload"),
        ({"dedup_key": ""}, BadRequest, "dedup_key"),
        ({"dedup_key": 5}, BadRequest, "dedup_key"),
        ({"target": "\ud800"}, BadRequest, "target"),
        ({"target": None}, BadRequest, "id"),
        ({"target": 5.0}, BadRequest, "id"),
    ],
    ids=str,
)
async def test_a_signal_that_makes_no_sense_is_refused_with_the_field_named(
    app: Kairos, asked: dict[str, Any], error: type[BadRequest], field: str
) -> None:
    job = await in_state(app, "waiting")
    given = {"target": job.id, "name": "go", "payload": None, "dedup_key": None} | asked
    with pytest.raises(error) as refused:
        await app.signal(given["target"], given["name"], given["payload"], dedup_key=given["dedup_key"])
    assert refused.value.field == field
    assert (await app.signals(job.id), (await app.get(job.id)).state) == ([], "waiting")


@pytest.mark.parametrize("count", [0, 1, 1000])
async def test_an_inbox_holds_any_number_and_keeps_their_order(app: Kairos, count: int) -> None:
    seen: list[int] = []

    @app.job
    async def act(ctx: Context) -> None:
        seen.extend(signal.payload for signal in ctx.inbox)

    job = await act.options(delay=3600).enqueue()
    for number in range(count):
        await app.signal(job.id, "note", number)
    await app.run_now(job.id)
    await drain(app)
    assert seen == list(range(count))
