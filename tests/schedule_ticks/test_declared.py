"""What the code declares is what is in the database, deploy after deploy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.captured_logs import capture_logs
from tests.schedule_ticks.firing import HOUR, NOON, fire_all, outcome

from kairos import Context, IntentError, Kairos
from kairos.errors import BadRequest, ConfigError, NotFound
from kairos.operations.schedules import read_row
from kairos.store.schedule_rows import stored_plan

ORPHAN = "no longer declared in code"


@pytest.fixture
def version_of_the_code(app, database):
    """A running worker of code that declares these schedules."""

    @asynccontextmanager
    async def started(name=None, version=1, **declared):
        declared = {key: each if isinstance(each, tuple) else (each, {}) for key, each in declared.items()}
        async with Kairos(database, name=name) as deployed:

            @deployed.job(version=version)
            async def report(ctx: Context, day: str = "today") -> str:
                return day

            for schedule, (when, options) in declared.items():
                deployed.schedule(when, name=schedule, **options)(report)
            async with deployed.worker():
                yield deployed

    return started


@pytest.fixture
def deploy(version_of_the_code):
    """Start a worker of the next version of the code, which declares these schedules, and stop it."""

    async def start(name=None, version=1, **declared):
        with capture_logs() as logs:
            async with version_of_the_code(name, version, **declared):
                pass
        return [line for line in logs if line["log_level"] == "error"]

    return start


@pytest.fixture
def paused(app):
    """Why a schedule is paused."""

    async def why(name):
        return (await app.schedules.get(name)).pause_reason

    return why


async def deadline(paused, name):
    """Wait until a schedule is paused by a worker that runs."""
    async with asyncio.timeout(60):
        while await paused(name) is None:
            await asyncio.sleep(0.1)


async def test_what_a_named_app_declares_no_more_is_paused_and_declared_again_goes_on(app, deploy, paused):
    await deploy("shop", report="every minute", other="every day at 9am")
    said = await deploy("shop", other="every day at 9am")
    assert [line["schedule"] for line in said] == ["report"]
    assert (await paused("report"), await paused("other")) == (ORPHAN, None)
    await app.clock.move("5m")
    await deploy("shop", report="every minute", other="every day at 9am")
    back = await app.schedules.get("report")
    assert (back.paused_at, back.pause_reason, back.generation) == (None, None, 1)
    await app.clock.move("1m")
    await fire_all(app)
    assert await outcome(app) == (1, 5)


async def test_a_pause_by_hand_outlasts_a_deploy(app, deploy, paused):
    await deploy("shop", report="every minute")
    await app.schedules.pause("report", "holidays")
    await deploy("shop", report="every minute")
    await deploy("shop", report="every hour")
    assert await paused("report") == "holidays"


@pytest.mark.parametrize("names", [("a", "b"), (None, "b"), ("a", None)])
async def test_apps_that_share_a_database_leave_each_others_schedules_alone(deploy, paused, names):
    for _ in range(2):
        assert await deploy(names[0], ours="every day at 9am") == []
        assert await deploy(names[1], theirs="every hour") == []
    assert (await paused("ours"), await paused("theirs")) == (None, None)


async def test_apps_without_a_name_that_share_no_action_leave_each_others_schedules_alone(
    database, deploy, paused
):
    await deploy(ours="every day at 9am")
    async with Kairos(database) as other:

        @other.job
        async def unrelated() -> None: ...

        other.schedule("every hour", name="theirs")(unrelated)
        async with other.worker():
            pass
    await deploy(ours="every day at 9am")
    assert (await paused("ours"), await paused("theirs")) == (None, None)


async def test_an_app_without_a_name_pauses_what_it_declares_no_more(deploy, paused):
    await deploy(report="every day at 9am", other="every hour")
    assert [line["schedule"] for line in await deploy(other="every hour")] == ["report"]
    assert (await paused("report"), await paused("other")) == (ORPHAN, None)
    await deploy(report="every day at 9am", other="every hour")
    assert await paused("report") is None


async def test_an_app_without_a_name_that_removed_its_only_schedule_pauses_it(deploy, paused):
    await deploy(report="every day at 9am")
    assert [line["schedule"] for line in await deploy()] == ["report"]
    assert await paused("report") == ORPHAN


async def test_a_schedule_added_by_hand_is_never_paused_by_a_deploy(app, deploy, paused):
    await app.schedules.add("report", "every day at 9am", app.report.call())
    assert await deploy(other="every hour") == []
    assert await paused("report") is None


@pytest.mark.parametrize("name", [None, "shop"])
async def test_during_a_rolling_deploy_a_schedule_goes_on_until_the_last_worker_that_declares_it_left(
    app, version_of_the_code, paused, name
):
    async with version_of_the_code(name, report="every minute"):
        await app.clock.move("1s")  # the new code starts later
        async with version_of_the_code(name):
            assert await paused("report") is None
            await app.clock.move("59s")
            async with asyncio.timeout(60):  # both workers may fire it
                while await outcome(app) != (1, 0):
                    await asyncio.sleep(0.1)
            assert await paused("report") is None
    async with version_of_the_code(name):
        assert await paused("report") == ORPHAN


@pytest.mark.parametrize("name", [None, "shop"])
async def test_once_the_last_worker_that_declares_a_schedule_left_its_next_tick_pauses_it(
    app, version_of_the_code, paused, name
):
    async with AsyncExitStack() as old, AsyncExitStack() as new:
        await old.enter_async_context(version_of_the_code(name, report="every minute"))
        await app.clock.move("1s")
        await new.enter_async_context(version_of_the_code(name))
        await old.aclose()
        assert await paused("report") is None
        await app.clock.move("59s")  # to its tick; the worker was seen within the last minute
        await deadline(paused, "report")
        assert await paused("report") == ORPHAN


async def test_a_worker_of_older_code_does_not_stop_a_schedule_that_newer_code_declared(
    app, version_of_the_code, paused
):
    async with version_of_the_code():
        await app.clock.move("1s")
        async with version_of_the_code(report="every minute"):
            pass
        await app.clock.move("1m")
        await fire_all(app)
        assert (await paused("report"), await outcome(app)) == (None, (1, 0))


async def test_a_named_app_that_removed_its_only_schedule_pauses_it(deploy, paused):
    await deploy("shop", report="every day at 9am")
    assert [line["schedule"] for line in await deploy("shop")] == ["report"]
    assert await paused("report") == ORPHAN


async def test_a_program_of_the_same_name_that_does_not_know_the_action_pauses_nothing(
    database, deploy, paused
):
    await deploy("shop", report="every day at 9am")
    async with Kairos(database, name="shop") as part:

        @part.job
        async def other() -> None: ...

        await part.synchronise()
    async with Kairos(database, name="shop") as client:
        await client.synchronise()
    assert await paused("report") is None


@pytest.fixture
def program(app, database):
    """A running worker of a program with these actions, given as name=schedule (None: no schedule)."""

    @asynccontextmanager
    async def started(name=None, /, **actions):
        async with Kairos(database, name=name) as running:
            for action, when in actions.items():

                @running.job(name=action)
                async def run() -> None: ...

                if when is not None:
                    running.schedule(when)(run)
            async with running.worker():
                yield running

    return started


@pytest.mark.parametrize("name", [None, "shop"])
@pytest.mark.parametrize("kept", [None, "every hour"], ids=["no schedule is left", "another is left"])
async def test_a_schedule_that_was_removed_with_its_function_is_paused(program, paused, name, kept):
    async with program(name, cleanup="every minute", mail=kept, ship=None):
        pass
    async with program(name, mail=kept, ship=None):
        assert await paused("cleanup") == ORPHAN
    async with program(name, cleanup="every minute", mail=kept, ship=None):
        assert await paused("cleanup") is None


@pytest.mark.parametrize("name", [None, "shop"])
@pytest.mark.parametrize("kept", [None, "every hour"], ids=["no schedule is left", "another is left"])
async def test_during_a_rolling_deploy_a_schedule_that_was_removed_with_its_function_is_paused_at_its_next_tick(
    app, program, paused, name, kept
):
    async with AsyncExitStack() as old, AsyncExitStack() as new:
        await old.enter_async_context(program(name, cleanup="every minute", mail=kept))
        await app.clock.move("1s")
        await new.enter_async_context(program(name, mail=kept))
        await old.aclose()
        assert await paused("cleanup") is None
        await app.clock.move("59s")
        await deadline(paused, "cleanup")
        assert await paused("cleanup") == ORPHAN


async def test_a_program_that_shares_less_than_half_of_the_actions_is_another_app(app, program, paused):
    async with program(cleanup="every minute", mail=None, ship=None, bill=None):
        pass
    await app.clock.move("1s")
    async with program(mail=None, other="every hour"):
        assert await paused("cleanup") is None
        await app.clock.move("1m")
        await fire_all(app)
        assert await paused("cleanup") is None


async def test_a_program_with_another_name_is_another_app_whatever_actions_it_has(program, paused):
    for ours, theirs in [("a", "b"), (None, "b"), ("a", None)]:
        async with program(ours, cleanup="every minute", mail=None):
            pass
        async with program(theirs, mail=None):
            assert await paused("cleanup") is None


@pytest.mark.parametrize(
    "option",
    [
        {"delay": 5},
        {"run_at": NOON},
        {"when": "in 5 minutes"},
        {"unique": "u"},
        {"expires_at": NOON},
        {"max_reaps": 1},
        {"key": "k", "ordered": True},
        {"reply_to": (1, "done")},
    ],
    ids=lambda option: list(option)[-1],
)
async def test_an_option_of_a_single_job_is_refused_for_a_schedule(app, option):
    with pytest.raises(BadRequest, match="belongs to a single job"):
        await app.schedules.add("report", "every day at 9am", app.report.options(**option).call())
    with pytest.raises(BadRequest, match="belongs to a single job"):
        app.schedule("every day at 9am")(app.report.options(**option))


async def test_a_calendar_that_is_configured_is_left_out_by_the_ticker_too(database):
    async with Kairos(database, holidays={"shop": ["2030-01-02"]}) as shop:

        @shop.job
        async def open_shop() -> None: ...

        call = open_shop.call()
        made = await shop.schedules.add("open", "every day at 9am except shop holidays", call)
        assert "holidays" in made.sentence
        day = datetime(2030, 1, 1, 12, tzinfo=UTC)
        plan = stored_plan(await shop.run(read_row("open")), shop.calendars)
        assert plan.ticks(after=day, limit=1) == [datetime(2030, 1, 3, 9, tzinfo=UTC)]
    async with Kairos(database) as bare:
        with pytest.raises(IntentError, match="No such calendar"):
            await bare.schedules.add("other", "every day at 9am except shop holidays", call)


async def test_an_app_takes_over_what_was_added_by_hand_as_it_is(app, deploy):
    await app.schedules.add("report", "every other day at 9am", app.report.call())
    await deploy("shop", report="every other day at 9am")
    taken = await app.schedules.get("report")
    assert (taken.declared_by, taken.generation) == ("shop", 1)


@pytest.mark.parametrize(
    "declaration",
    [
        ("2026-03-02 13:00", {}),
        ("every hour until 2026-03-02 14:00", {}),
        ("every hour", {"end": NOON + 2 * HOUR}),
        ("every hour", {"count": 1}),
    ],
    ids=["one-off", "until", "end", "count"],
)
async def test_a_deploy_after_a_schedule_came_to_its_end_changes_nothing(app, deploy, declaration):
    await deploy(report=declaration)
    await app.clock.move("1d")
    await fire_all(app)
    ended = await app.schedules.get("report")
    assert ended.next_tick_at is None
    assert await deploy(report=declaration) == []
    assert await app.schedules.get("report") == ended


async def test_a_first_deploy_after_the_time_has_passed_says_so_and_starts(app, deploy):
    (said,) = await deploy(report="2026-03-01 13:00", other="every day at 9am")
    assert (said["event"], said["schedule"]) == ("a declared schedule was not stored", "report")
    assert "past" in said["error"]
    assert (await app.schedules.get("other")).next_ticks
    with pytest.raises(NotFound):
        await app.schedules.get("report")


@pytest.mark.parametrize("name", [None, "shop"])
async def test_words_that_came_to_their_end_replace_the_ones_before(app, deploy, paused, name):
    await deploy(name, report="every hour")
    await deploy(name, report="every hour until 2026-03-01")
    assert await paused("report") == ORPHAN
    await deploy(name, report="every hour until 2030-03-01")
    assert await paused("report") is None


async def test_a_new_version_of_the_action_after_the_end_says_so_and_starts(app, deploy, paused):
    await deploy(report="2026-03-02 13:00")
    await app.clock.move("1d")
    await fire_all(app)
    assert len(await deploy(report="2026-03-02 13:00", version=2)) == 1
    assert await paused("report") is None


def test_what_is_never_understood_is_refused_where_it_is_declared(app):
    with pytest.raises(IntentError):
        app.schedule("every blue moon")
    with pytest.raises(IntentError, match="time zone"):
        app.schedule("every day at 9am", tz="Europe/Atlantis")
    with pytest.raises(BadRequest, match="when"):
        app.schedule(5)
    with pytest.raises(BadRequest, match="no option 'foo'"):
        app.schedule("every day at 9am", foo=1)
    with pytest.raises(BadRequest, match="control"):
        app.schedule("every day at 9am", name="a\0b")(app.report)
    assert app.declared == []


@pytest.mark.parametrize("intent", ["2020-01-01 09:00", "every hour until 2020-01-01", "tomorrow at 9am"])
def test_a_time_that_has_passed_may_still_be_declared(app, intent):
    app.schedule(intent)(app.report)
    assert len(app.declared) == 1


@pytest.mark.parametrize("name", ["", 5])
def test_a_name_of_an_app_is_text(name):
    with pytest.raises(ConfigError, match="name is"):
        Kairos("postgresql://nowhere", name=name)


async def test_only_another_count_is_an_edit(app):
    first = await app.schedules.add("report", "every hour", app.report.call(), count=3)
    await app.clock.freeze(NOON + HOUR)
    await fire_all(app)
    same = await app.schedules.add("report", "every hour", app.report.call(), count=3)
    assert (same.count, same.ticks_left, same.generation) == (3, 2, first.generation)
    more = await app.schedules.add("report", "every hour", app.report.call(), count=5)
    assert (more.count, more.ticks_left, more.generation) == (5, 5, first.generation + 1)
    endless = await app.schedules.add("report", "every hour", app.report.call())
    assert (endless.count, endless.ticks_left, len(endless.next_ticks)) == (None, None, 5)
    assert endless.next_tick_at == NOON + 2 * HOUR + timedelta(0)
