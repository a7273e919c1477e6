"""`kairos.testing`: running what is due without a worker, and time that is moved instead of waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kairos import Context, Kairos, Next, Replay, step
from kairos.errors import BadRequest
from kairos.testing import Clock, drain

HOUR = timedelta(hours=1)


async def test_a_frozen_clock_stands_until_it_is_moved(app: Kairos) -> None:
    clock = await Clock(app).install()
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert await clock.freeze(noon) == noon == await clock.now() == await clock.now()
    assert await clock.move("1h") == noon + HOUR == await clock.now()
    assert (await app.action("echo").enqueue()).inserted_at == noon + HOUR


async def test_a_clock_that_is_not_frozen_goes_on_from_where_it_was_moved_to(app: Kairos) -> None:
    clock = await Clock(app).install()
    before = await clock.now()
    moved = await clock.move(HOUR)
    assert moved >= before + HOUR
    assert await clock.now() > moved


async def test_time_does_not_go_back_by_a_move(app: Kairos) -> None:
    clock = await Clock(app).install()
    with pytest.raises(BadRequest, match="negative"):
        await clock.move(-1)


async def test_installing_a_clock_twice_changes_nothing(app: Kairos) -> None:
    clock = await Clock(app).install()
    frozen = await clock.freeze()
    assert await (await Clock(app).install()).now() == frozen


async def test_a_drain_runs_what_is_due_and_what_becomes_due_by_it_and_tells_how_many(app: Kairos) -> None:
    @app.machine("chain", run_ahead=False)
    class Chain:
        @step(initial=True)
        async def one(self, ctx: Context) -> object:
            ctx.spawn(app.action("echo").call(1))
            return Next("two")

        @step
        async def two(self, ctx: Context) -> object:
            return Replay(delay=60) if ctx.attempt == 0 else Next("one")

    assert await drain(app) == 0
    await Chain.enqueue()
    await app.action("echo").options(delay=60).enqueue()
    assert await drain(app) == 3
    assert await drain(app) == 0


async def test_a_drain_that_would_never_end_says_so(app: Kairos) -> None:
    @app.job
    async def forever() -> Replay:
        return Replay()

    await forever.enqueue()
    with pytest.raises(RuntimeError, match="ran 20 steps and there is more"):
        await drain(app, limit=20)


@pytest.mark.parametrize(
    "limits", [{"rate": (2, "1h")}, {"concurrency": 1}, {"key_rate": (2, "1h")}], ids=str
)
async def test_a_drain_keeps_to_the_limits_of_a_queue(app: Kairos, limits: dict[str, object]) -> None:
    clock = await Clock(app).install()
    await clock.freeze()
    await app.limit("default", **limits)
    await app.enqueue_many([app.action("echo").options(key="k").call()] * 3)
    paced = "concurrency" not in limits
    assert await drain(app) == (2 if paced else 3)
    await clock.move("30m")
    assert await drain(app) == (1 if paced else 0)


async def test_a_drain_leaves_what_it_does_not_know_for_others(app: Kairos, database: str) -> None:
    async with Kairos(database) as other:
        other.job(name="foreign")(lambda: None)
        job = await other.action("foreign").enqueue()
        assert await drain(app) == 1
        read = await app.get(job.id)
        assert (read.state, read.attempt) == ("scheduled", 0)
        (row,) = await app.history(job.id)
        assert (row.verb, "does not know action 'foreign'" in row.reason) == ("release", True)


def test_the_fixtures_of_the_plugin_give_a_migrated_database(kairos_database: str) -> None:
    from kairos import SyncKairos

    with SyncKairos(kairos_database) as app:
        assert app.jobs() == []
