"""What the code declares is what is in the database, deploy after deploy."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from tests.schedules.firing import HOUR, NOON, fire_all, outcome

from kairos import Context, IntentError, Kairos
from kairos.errors import BadRequest, ConfigError, NotFound
from kairos.worker.ticker import Ticker

ORPHAN = "no longer declared in code"


@pytest.fixture
def deploy(app, database):
    """The next version of the code, which declares these schedules, and its worker's start."""

    @asynccontextmanager
    async def started(name=None, version=1, **declared):
        async with Kairos(database, name=name) as deployed:

            @deployed.job(version=version)
            async def report(ctx: Context, day: str = "today") -> str:
                return day

            for schedule, (when, options) in declared.items():
                deployed.schedule(when, name=schedule, **options)(report)
            async with deployed.worker():
                yield deployed

    async def start(name=None, version=1, **declared):
        given = {key: each if isinstance(each, tuple) else (each, {}) for key, each in declared.items()}
        with structlog.testing.capture_logs() as logs:
            async with started(name, version, **given):
                pass
        return [line for line in logs if line["log_level"] == "error"]

    return start


@pytest.fixture
def paused(app):
    """Why a schedule is paused."""

    async def why(name):
        return (await app.schedules.get(name)).pause_reason

    return why


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


@pytest.mark.parametrize("names", [(None, None), ("a", "b"), (None, "b"), ("a", None)])
async def test_apps_that_share_a_database_leave_each_others_schedules_alone(deploy, paused, names):
    for _ in range(2):
        assert await deploy(names[0], ours="every day at 9am") == []
        assert await deploy(names[1], theirs="every hour") == []
    assert (await paused("ours"), await paused("theirs")) == (None, None)


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
        ticker = Ticker(shop.store)
        day = datetime(2030, 1, 1, 12, tzinfo=UTC)
        assert ticker._plan_of(made.sentence).ticks(after=day, limit=1) == [
            datetime(2030, 1, 3, 9, tzinfo=UTC)
        ]
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
