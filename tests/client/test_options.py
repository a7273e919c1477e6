"""What `options(...)` says is what the job becomes."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kairos import Context, Job, Kairos
from kairos.errors import BadArguments
from kairos.testing import Clock, drain

NOON = datetime(2035, 6, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({}, {"queue": "mail", "priority": 0, "key": None, "tags": (), "unique": None}),
        ({"queue": "other"}, {"queue": "other"}),
        ({"priority": -32768}, {"priority": -32768}),
        ({"priority": 32767}, {"priority": 32767}),
        ({"key": "user:7"}, {"key": "user:7"}),
        ({"key": "user:7", "ordered": True}, {"key": "user:7"}),
        ({"tags": ["red", "green"]}, {"tags": ("red", "green")}),
        ({"tags": ()}, {"tags": ()}),
        ({"unique": "order:42"}, {"unique": "order:42"}),
        ({"run_at": NOON}, {"run_at": NOON, "state": "scheduled"}),
        ({"run_at": NOON.astimezone(ZoneInfo("Asia/Kathmandu"))}, {"run_at": NOON}),
        ({"run_at": NOON.astimezone(timezone(timedelta(seconds=-3601)))}, {"run_at": NOON}),
        ({"run_at": datetime(2, 1, 1, tzinfo=UTC)}, {"run_at": datetime(2, 1, 1, tzinfo=UTC)}),
        ({"run_at": datetime(9998, 12, 30, tzinfo=UTC)}, {"run_at": datetime(9998, 12, 30, tzinfo=UTC)}),
        ({"expires_at": NOON}, {"expires_at": NOON}),
        ({"run_at": NOON, "ttl": "90s"}, {"expires_at": NOON + timedelta(seconds=90)}),
        ({"reply_to": (77, "done")}, {"reply_to": 77}),
    ],
    ids=str,
)
async def test_an_option_is_kept(app: Kairos, options: dict[str, Any], read: dict[str, Any]) -> None:
    job = await app.action("send").options(**options).enqueue(user=7)
    found = await app.get(job.id)
    for name, value in read.items():
        assert getattr(job, name) == getattr(found, name) == value, name


async def test_what_an_enqueue_answers_is_the_job_as_it_is_stored(app: Kairos) -> None:
    clock = await Clock(app).install()
    now = await clock.freeze()
    options = {"delay": "5m", "ttl": "1h", "key": "k", "tags": ["t"], "unique": "u", "priority": 3}
    job = await app.action("send").options(**options).enqueue(7)
    found = await app.get(job.id)
    unlike = {field.name for field in fields(Job) if getattr(job, field.name) != getattr(found, field.name)}
    assert unlike <= {"machine_state", "apply"}
    assert (job.inserted_at, job.run_at) == (now, now + timedelta(minutes=5))
    assert (job.state, job.is_new, job.attempt, job.version) == ("scheduled", True, 0, 1)
    assert job.input == {"user": 7}


async def test_options_of_an_action_are_its_defaults(app: Kairos) -> None:
    @app.job(queue="slow", priority=5, key="all", tags=["x"], max_reaps=1)
    def act() -> None: ...

    plain, other = await act.enqueue(), await act.options(priority=1, key="one").enqueue()
    assert (plain.queue, plain.priority, plain.key, plain.tags) == ("slow", 5, "all", ("x",))
    assert (other.queue, other.priority, other.key, other.tags) == ("slow", 1, "one", ("x",))


async def test_more_urgent_jobs_run_first_and_equal_ones_in_order(app: Kairos) -> None:
    ran: list[int] = []

    @app.job
    async def act(number: int) -> None:
        ran.append(number)

    for number, priority in enumerate([5, -5, 0, -5, 5, 0]):
        await act.options(priority=priority).enqueue(number)
    await drain(app)
    assert ran == [1, 3, 2, 5, 0, 4]


async def test_options_are_no_arguments(app: Kairos) -> None:
    with pytest.raises(BadArguments) as refused:
        await app.action("send").enqueue(user=7, priority=1)
    assert refused.value.field == "priority"


async def test_an_argument_may_be_called_like_an_option(app: Kairos) -> None:
    @app.job
    async def act(ctx: Context, queue: str, priority: int, key: str = "k") -> list[Any]:
        return [queue, priority, key]

    job = await act.options(priority=3).enqueue(queue="q", priority=9)
    assert (job.queue, job.priority) == ("default", 3)
    await drain(app)
    assert await app.result(job.id) == ["q", 9, "k"]


async def test_versions_live_side_by_side(app: Kairos) -> None:
    def act(version: int) -> Any:
        @app.job(name="act", version=version)
        async def run() -> int:
            return version

        return run

    first = await act(1).enqueue()
    act(2)
    second = await app.action("act").enqueue()
    await drain(app)
    assert [(job.version, await app.result(job.id)) for job in (first, second)] == [(1, 1), (2, 2)]
