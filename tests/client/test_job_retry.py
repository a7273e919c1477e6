"""A job's own retry policy: kept with it, and asked in place of what its machine would answer an error with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.client.connections import KINDS, settle

from kairos import Backoff, Context, Done, Kairos, Next, SyncKairos, step
from kairos.errors import BadRequest
from kairos.operations.bulk_jobs import bulk
from kairos.shapes.job_filters import Filters
from kairos.testing import drain

AT_ONCE = {"base": 0, "jitter": 0}


async def executions(app: Kairos, job: int) -> tuple[str, int]:
    """How a job ended, and how often a step of it was begun."""
    await drain(app)
    ends = [row for row in await app.history(job) if row.verb in ("fail", "stop", "done", "next")]
    return (await app.get(job)).state, len(ends)


def failing(app: Kairos, **options: Any) -> Any:
    @app.job(name="failing", **options)
    async def failing() -> None:
        raise ValueError("no")

    return failing


@pytest.mark.parametrize("own", [None, Backoff(attempts=4, **AT_ONCE)], ids=["no policy", "a policy"])
@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_a_job_is_executed_exactly_as_often_as_it_says_itself(
    app: Kairos, own: Backoff | None, attempts: int
) -> None:
    action = failing(app, retry=own)
    job = await action.options(retry=Backoff(attempts=attempts, **AT_ONCE)).enqueue()
    assert await executions(app, job.id) == ("failed", attempts)


async def test_a_job_with_a_key_is_executed_as_often_as_it_says_too(app: Kairos) -> None:
    action = failing(app)
    job = await action.options(key="k", retry=Backoff(attempts=3, **AT_ONCE)).enqueue()
    assert await executions(app, job.id) == ("failed", 3)


async def test_a_job_that_says_nothing_is_left_to_its_machine(app: Kairos) -> None:
    job = await failing(app, retry=Backoff(attempts=2, **AT_ONCE)).enqueue()
    async with app.store.connection() as connection:
        assert await connection.fetchval("select retry from kairos.gen_durable") is None
    assert (job.retry, (await app.get(job.id)).retry) == (None, None)
    assert await executions(app, job.id) == ("failed", 2)


async def test_a_handle_is_not_asked_where_the_job_has_a_policy_of_its_own(app: Kairos) -> None:
    asked: list[str] = []

    @app.machine("handled")
    class Handled:
        @step
        async def run(self, ctx: Context) -> Any:
            raise ValueError("no")

        def handle(self, error: Exception, ctx: Context) -> Any:
            asked.append(str(error))
            return Done("handled")

    own = await Handled.options(retry=Backoff(attempts=2, **AT_ONCE)).enqueue()  # type: ignore[attr-defined]
    assert (await executions(app, own.id), asked) == (("failed", 2), [])
    plain = await Handled.enqueue()  # type: ignore[attr-defined]
    assert (await executions(app, plain.id), asked) == (("success", 1), ["no"])


async def test_each_step_of_a_job_has_the_attempts_of_its_policy(app: Kairos) -> None:
    @app.machine("steps")
    class Steps:
        @step(initial=True)
        async def one(self, ctx: Context) -> Any:
            if ctx.attempt == 0:
                raise ValueError("once")
            return Next("two")

        @step
        async def two(self, ctx: Context) -> Any:
            raise ValueError("for ever")

    job = await Steps.options(retry=Backoff(attempts=2, **AT_ONCE)).enqueue()  # type: ignore[attr-defined]
    await drain(app)
    told = [(row.verb, row.step) for row in await app.history(job.id)]
    retried = [("fail", "one"), ("retry", "one"), ("next", "one"), ("fail", "two"), ("retry", "two")]
    assert told == [*retried, ("stop", "two")]


async def test_the_delays_are_those_of_the_job(app: Kairos) -> None:
    job = await failing(app).options(retry=Backoff(attempts=9, base="1h", cap="1d", jitter=0)).enqueue()
    await drain(app)
    waiting = await app.get(job.id)
    (failed, _) = await app.history(job.id)
    assert waiting.run_at is not None
    assert (waiting.state, (waiting.run_at - failed.at).total_seconds()) == ("scheduled", 3600)


async def test_a_policy_is_kept_by_one_and_by_many_and_by_a_retry(app: Kairos) -> None:
    policy = Backoff(attempts=2, base="90s", factor=3, cap="2h", jitter=0.5)
    stored = Backoff(attempts=2, base=90, factor=3, cap=7200, jitter=0.5)
    action = app.action("fail")
    many = [action.call(), action.options(retry=policy).call(), action.call()]
    first = await action.options(retry=policy).enqueue()
    jobs = await app.enqueue_many(many)
    assert [job.retry for job in (first, *jobs)] == [policy, None, policy, None]
    found = {job.id: job.retry for job in await app.jobs()}
    assert [found[job.id] for job in (first, *jobs)] == [stored, None, stored, None]
    await app.cancel(first.id)
    again = await app.retry(first.id)
    assert (again.retry_of, again.retry) == (first.id, stored)
    await app.cancel(again.id)
    answer = await app.run(bulk("retry", Filters(state="cancelled"), actor="me", request_id="r"))
    assert answer.done == 2
    assert [job.retry for job in await app.jobs(limit=2)] == [stored, stored]


async def test_a_child_keeps_the_policy_it_was_spawned_with(app: Kairos) -> None:
    child = failing(app)

    @app.job
    async def parent(ctx: Context) -> None:
        ctx.spawn(child.options(retry=Backoff(attempts=3, **AT_ONCE)).call())

    await parent.enqueue()
    await drain(app)
    (spawned,) = await app.jobs(action="failing")
    assert await executions(app, spawned.id) == ("failed", 3)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_policy_is_kept_over_a_connection_of_ones_own(app: Kairos, database: str, kind: str) -> None:
    call = app.action("fail").options(retry=Backoff(attempts=7)).call()
    async with KINDS[kind](database) as own:
        await settle(app.on(own.connection).enqueue(call))
        await settle(own.commit())
    (job,) = await app.jobs()
    assert job.retry == Backoff(attempts=7, cap=3600)


def test_the_blocking_app_keeps_it_too(sync_app: SyncKairos) -> None:
    job = sync_app.action("fail").options(retry=Backoff(attempts=2)).enqueue()
    assert sync_app.get(job.id).retry == Backoff(attempts=2, cap=3600)


@pytest.mark.parametrize(
    "retry",
    [5, {"attempts": 5}, lambda error, ctx: None, Backoff(attempts=2**31)],
    ids=["number", "dict", "code", "huge"],
)
def test_what_no_job_can_carry_is_refused(sync_app: SyncKairos, retry: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        sync_app.action("fail").options(retry=retry)
    assert str(refused.value.field).startswith("retry")


@pytest.mark.parametrize(
    ("stored", "shown", "code"),
    [
        ({"attempts": 0}, None, "BAD_DEFINITION"),
        ({"attempts": 3, "base": "soon"}, None, "INVALID"),
        ({"attempts": 3, "factor": {}}, None, "TypeError"),
        ({"attempts": 3, "whim": 1}, Backoff(attempts=3), "BAD_DEFINITION"),
        ([1], None, "TypeError"),
        (None, None, "TypeError"),
    ],
    ids=["never", "no length", "no number", "newer", "list", "null"],
)
async def test_a_row_whose_policy_cannot_be_read_ends_by_name_and_is_shown_all_the_same(
    app: Kairos, stored: Any, shown: Backoff | None, code: str
) -> None:
    """Whoever wrote it: the job fails and says so, its worker goes on, and so does every list that holds it."""
    job = await failing(app, retry=Backoff(attempts=2, **AT_ONCE)).enqueue()
    async with app.store.connection() as connection:
        broken = json.dumps(stored)
        await connection.execute("update kairos.gen_durable set retry = $1::text::jsonb", broken)
    assert (await app.get(job.id)).retry == shown
    await drain(app)
    (ended,) = await app.jobs()
    assert (ended.state, ended.error_code, ended.retry) == ("failed", code, shown)
