"""A key computed from the arguments, a retry window, and retries for the jobs of a schedule."""

from __future__ import annotations

import pytest

from kairos import Backoff, Kairos
from kairos.errors import BadDefinition, BadRequest
from kairos.operations.named_calls import NamedCall, calls
from kairos.testing import Clock, drain


async def test_a_key_is_computed_from_the_arguments_as_the_step_will_see_them(app: Kairos) -> None:
    @app.job(key=lambda order_id, region: f"{region}:{order_id + 1}")
    async def ship(order_id: int, region: str = "eu") -> None: ...

    one = await ship.enqueue(order_id="6")  # type: ignore[arg-type]  # read as a number
    other = await ship.options(key="own").enqueue(order_id=1)
    many = await app.enqueue_many(ship.call(order_id=n, region="us") for n in (1, 2))
    assert [job.key for job in (one, other, *many)] == ["eu:7", "own", "us:2", "us:3"]


def test_a_key_of_an_argument_that_does_not_exist_is_refused_when_it_is_declared(app: Kairos) -> None:
    with pytest.raises(BadDefinition, match=r"asks for 'order', .* Did you mean 'order_id'\?$"):

        @app.job(key=lambda order: str(order))
        async def ship_wrong(order_id: int) -> None: ...


def test_a_computed_key_must_be_text(app: Kairos) -> None:
    @app.job(key=lambda n: n)
    async def numbered(n: int) -> None: ...

    with pytest.raises(BadRequest, match="'numbered' was computed as 5; it must be text"):
        numbered.call(n=5)


async def test_a_process_without_the_code_cannot_guess_a_computed_key(app: Kairos, database: str) -> None:
    @app.job(key=lambda n: f"k{n}")
    async def keyed(n: int) -> None: ...

    await app.synchronise()
    async with Kairos(database) as other:
        with pytest.raises(BadRequest, match="computed by its code, which is not loaded here: give a key"):
            await other.run(calls(other.registry, [NamedCall("keyed", {"n": 1}, {})]))
        (call,) = await other.run(calls(other.registry, [NamedCall("keyed", {"n": 1}, {"key": "k1"})]))
        assert call.options.key == "k1"


async def test_a_job_is_not_retried_after_its_window(app: Kairos) -> None:
    @app.job(retry=Backoff(attempts=9, base="20m", factor=1, jitter=0, within="1h"))
    async def flaky() -> None:
        raise ConnectionError("no answer")

    clock = await Clock(app).install()
    await clock.freeze()
    job = await flaky.enqueue()
    for _ in range(9):
        await drain(app)
        await clock.move("20m")
    verbs = [row.verb for row in await app.history(job.id)]
    assert verbs == ["fail", "retry", "fail", "retry", "fail", "retry", "stop"]


async def test_the_jobs_of_a_schedule_have_the_retries_that_it_was_given(app: Kairos) -> None:
    @app.job
    async def fetch() -> None:
        raise ConnectionError("no answer")

    call = fetch.options(retry=Backoff(attempts=2, base=0, only=ConnectionError)).call()
    await app.schedules.add("nightly", "every day at 9am", call)
    job = await app.schedules.trigger("nightly")
    await drain(app)
    read = await app.get(job)
    assert (read.state, read.attempt) == ("failed", 1)
    await app.schedules.add("nightly", "every day at 9am", fetch.call())
    job = await app.schedules.trigger("nightly")
    await drain(app)
    assert (await app.get(job)).attempt == 0
