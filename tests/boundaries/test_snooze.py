"""Snooze: a job that waits for a worker is put off. The same job, later; its history says who and why."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from tests.api.service_process import serving
from tests.boundaries.frozen_time import SECOND, US, Moment, around
from tests.engine_statements import done

from kairos import InvalidTransition, Job, JobState, Kairos, KairosClient, SyncKairos
from kairos.cli import run as command
from kairos.errors import BadRequest, NotFound

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("delay", [0, 60], ids=["pending", "scheduled"])
@pytest.mark.parametrize("by", ["delay", "until"])
async def test_a_job_that_waits_for_a_worker_is_due_later(moment: Moment, delay: int, by: str) -> None:
    job = await moment.app.get(await moment.enqueue(delay=delay, ttl="2h"))
    when: dict[str, Any] = {"delay": "1h"} if by == "delay" else {"until": moment.start + HOUR}
    snoozed = await moment.app.snooze(job.id, **when, reason="the shop is closed")
    assert (snoozed.id, snoozed.state, snoozed.run_at) == (job.id, "scheduled", moment.start + HOUR)
    assert (snoozed.expires_at, snoozed.attempt) == (job.expires_at, job.attempt)
    (row,) = await moment.app.history(job.id)
    assert (row.verb, row.from_state, row.to_state, row.reason) == (
        "snooze",
        job.state,
        "scheduled",
        "the shop is closed",
    )


@around
async def test_a_snoozed_job_is_picked_when_its_new_time_comes(moment: Moment, offset: timedelta) -> None:
    job = await moment.enqueue()
    await moment.app.snooze(job, delay=10)
    await moment.at(moment.start + 10 * SECOND + offset)
    assert await moment.worker().run() == [job][: offset >= 0 * US]


@around
async def test_a_job_is_not_snoozed_to_when_it_has_expired(moment: Moment, offset: timedelta) -> None:
    job = await moment.enqueue(ttl=60)
    until = moment.start + 60 * SECOND + offset
    if offset < 0 * US:
        assert (await moment.app.snooze(job, until=until)).run_at == until
        await moment.at(until)
        assert await moment.worker().run() == [job]
    else:
        with pytest.raises(InvalidTransition) as refused:
            await moment.app.snooze(job, until=until)
        assert refused.value.message == (
            f"Job {job} is pending and cannot be snoozed: it expires by then, "
            "so choose an earlier time or edit its expiry."
        )
        assert await moment.state(job) == "pending"


@around
async def test_a_job_is_snoozed_to_a_time_that_is_still_to_come(moment: Moment, offset: timedelta) -> None:
    job = await moment.enqueue(run_at=moment.start - HOUR)
    if offset > 0 * US:
        assert (await moment.app.snooze(job, until=moment.start + offset)).state == "scheduled"
    else:
        with pytest.raises(InvalidTransition, match="that time is not in the future"):
            await moment.app.snooze(job, until=moment.start + offset)


@around
async def test_a_snooze_never_brings_a_job_forward(moment: Moment, offset: timedelta) -> None:
    job = await moment.enqueue(delay=60)
    until = moment.start + 60 * SECOND + offset
    if offset > 0 * US:
        assert (await moment.app.snooze(job, until=until)).run_at == until
    else:
        with pytest.raises(InvalidTransition, match="it is not due before that time"):
            await moment.app.snooze(job, until=until)
        assert (await moment.app.get(job)).run_at == moment.start + 60 * SECOND


async def test_the_next_of_a_key_goes_when_the_head_of_its_line_is_snoozed(moment: Moment) -> None:
    head, following = [job.id for job in await moment.enqueue_many({"key": "k"}, {"key": "k"})]
    assert (await moment.row(following))["held"]
    await moment.app.snooze(head, delay=60)
    assert not (await moment.row(following))["held"]
    assert await moment.worker().run() == [following]
    await moment.at(moment.start + 60 * SECOND)
    assert await moment.worker().run() == [head]


async def test_a_held_job_that_is_snoozed_leaves_the_line_and_comes_back(moment: Moment) -> None:
    head, held, last = [job.id for job in await moment.enqueue_many(*[{"key": "k"}] * 3)]
    worker = moment.worker()
    claims = await worker.pick()
    assert [claim.id for claim in claims] == [head]
    await moment.app.snooze(held, delay=60)
    assert not (await moment.row(held))["held"]
    assert await worker.pick() == []  # the head still runs
    await worker.commit(*map(done, claims))
    assert await worker.run() == [last]
    await moment.at(moment.start + 60 * SECOND)
    assert await worker.run() == [held]


@pytest.mark.parametrize("state", ["running", "cancelled"])
async def test_only_a_job_that_waits_for_a_worker_is_snoozed(moment: Moment, state: str) -> None:
    job = await moment.enqueue()
    if state == "running":
        await moment.worker().pick()
    else:
        await moment.app.cancel(job)
    with pytest.raises(InvalidTransition) as refused:
        await moment.app.snooze(job, delay=60)
    assert (refused.value.current, refused.value.target) == (state, "scheduled")
    assert "snooze" not in refused.value.allowed
    with pytest.raises(NotFound):
        await moment.app.snooze(10**9, delay=60)


@pytest.mark.parametrize(
    "details",
    [
        {},
        {"delay": 5, "until": datetime(2090, 1, 1).astimezone()},
        {"delay": -1},
        {"delay": "soon"},
        {"until": "tomorrow"},
        {"until": datetime(2090, 1, 1)},
        {"delay": 5, "reason": 7},
    ],
    ids=str,
)
async def test_a_snooze_that_makes_no_sense_is_refused(moment: Moment, details: dict[str, Any]) -> None:
    job = await moment.enqueue()
    with pytest.raises(BadRequest):
        await moment.app.snooze(job, **details)
    assert await moment.state(job) == "pending"


# Whatever a client speaks, it is the same request.

Snooze = Callable[[Kairos, Job], Awaitable[None]]


async def by_transition(app: Kairos, job: Job) -> None:
    await job.transition(JobState.SCHEDULED, delay="1h", reason="later")


async def by_sync(app: Kairos, job: Job) -> None:
    def snooze() -> None:
        with SyncKairos(app.settings.database_url) as sync:
            sync.snooze(job.id, delay="1h", reason="later")

    await asyncio.to_thread(snooze)


async def by_http(app: Kairos, job: Job) -> None:
    async with serving(app, open=True) as served:
        path = f"/api/jobs/{job.id}/snooze"
        answer = await served.http.post(path, json={"delay": 3600, "reason": "later"})
        assert (answer.status_code, answer.json()["job"]["state"]) == (200, "scheduled")
        assert (await served.http.post(path)).status_code == 422
        assert (await served.http.post(path, json={"delay": 1})).status_code == 409


async def by_remote_client(app: Kairos, job: Job) -> None:
    async with serving(app, open=True) as served, KairosClient(served.url) as remote:
        assert (await remote.snooze(job.id, delay=HOUR, reason="later")).state == "scheduled"


async def by_bulk(app: Kairos, job: Job) -> None:
    async with serving(app, open=True) as served:
        path, body = "/api/jobs/bulk/snooze", {"filter": {"queue": job.queue}, "reason": "later"}
        assert (await served.http.post(path, json=body)).status_code == 422
        counted = await served.http.post(path, json={**body, "dryRun": True})
        assert (counted.json()["matched"], counted.json()["refused"]) == (1, 0)
        answer = await served.http.post(path, json={**body, "delay": "1h"})
        assert (answer.json()["done"], answer.json()["refused"]) == (1, 0)
        other = await served.http.post("/api/jobs/bulk/cancel", json={**body, "delay": "1h"})
        assert (other.status_code, other.json()["error"]["details"]["field"]) == (422, "delay")


async def by_command(app: Kairos, job: Job) -> None:
    database = ["--database-url", str(app.settings.database_url)]
    arguments = ["jobs", "snooze", str(job.id), "--delay", "1h", "--reason", "later", *database]
    with patch.dict(os.environ):  # a command keeps the chosen database there, for the processes it starts
        assert await asyncio.to_thread(command, arguments) == 0


@pytest.mark.parametrize("snooze", [by_transition, by_sync, by_http, by_remote_client, by_bulk, by_command])
async def test_a_job_is_snoozed_by_every_kind_of_client(moment: Moment, snooze: Snooze) -> None:
    job = await moment.app.get(await moment.enqueue())
    await snooze(moment.app, job)
    found = await moment.app.get(job.id)
    assert (found.state, found.run_at) == ("scheduled", moment.start + HOUR)
    assert [(row.verb, row.reason) for row in await moment.app.history(job.id)] == [("snooze", "later")]
