"""`kairos.testing`: running what is due without a worker, and time that is moved instead of waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from kairos import Context, Kairos, Next, Replay, step
from kairos.errors import BadRequest, ConfigError
from kairos.testing import Clock, drain
from kairos.testing.clock import FOR_TESTS

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


DEFINITION = "select pg_get_functiondef('kairos.now()'::regprocedure)"


@pytest.fixture
async def ordinary(app: Kairos) -> AsyncIterator[Kairos]:
    """An app on a database that was not made for tests."""
    async with app.store.connection() as connection:
        await connection.execute("comment on schema kairos is null")
        yield app
        await connection.execute(f"comment on schema kairos is '{FOR_TESTS}'")


async def test_after_the_block_of_a_clock_the_real_clock_is_back(app: Kairos) -> None:
    async with app.store.connection() as connection:
        before = await connection.fetchval(DEFINITION)
        with pytest.raises(ZeroDivisionError):
            async with Clock(app) as clock:
                await clock.freeze(datetime(2030, 1, 1, tzinfo=UTC))
                raise ZeroDivisionError
        assert await connection.fetchval(DEFINITION) == before
        assert await connection.fetchval("select to_regclass('kairos.clock')") is None
    assert (await app.action("echo").enqueue()).inserted_at.year != 2030
    await clock.uninstall()  # a second time changes nothing


async def test_a_clock_is_refused_on_an_ordinary_database_in_use_unless_it_is_forced(
    ordinary: Kairos,
) -> None:
    await ordinary.action("echo").enqueue()
    with pytest.raises(ConfigError, match="was not made for tests"):
        await Clock(ordinary).install()
    with pytest.raises(ConfigError):
        async with Clock(ordinary):
            pass
    clock = await Clock(ordinary).install(force=True)
    await clock.uninstall()


async def test_a_clock_is_installed_on_an_ordinary_database_that_nobody_uses(ordinary: Kairos) -> None:
    async with Clock(ordinary) as clock:
        await ordinary.action("echo").enqueue()
        await clock.install()


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
    with pytest.raises(RuntimeError, match="ran 20 steps and more are due"):
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
