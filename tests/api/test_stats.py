"""What happened lately and how things stand, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from tests.api.service_process import Served
from tests.engine_statements import Rig, done, stop

from kairos import Kairos, operations
from kairos.api import stats_cache
from kairos.api.schemas.stats import SeriesAnswer, StatsAnswer
from kairos.errors import DatabaseUnavailable
from kairos.operations.stats import Slot
from kairos.stats_serializers import MOST_NAMES
from kairos.stats_serializers import stats as stats_document
from kairos.store.query import Query


async def lived(app: Kairos) -> None:
    """Five accepted; two succeed, one fails, one runs, one is for later."""
    world = Rig(app.store)
    await world.enqueue_many({}, {}, {}, {}, {"delay": 3600, "queue": "later"})
    hand = world.worker()
    claims = await hand.pick()
    await hand.commit(done(claims[0]), done(claims[1]), stop(claims[2]))


async def test_the_stats_of_an_empty_database_are_noughts(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/stats")
    stats = answer.json()["stats"]
    assert answer.status_code == 200
    assert set(stats["states"].values()) == {0}
    assert stats["window"]["wait"] == {"p50": None, "p95": None, "p99": None}
    assert (stats["actions"], stats["queues"], stats["next"], stats["atLeast"]) == ([], [], [], [])
    assert (stats["workers"], stats["behind"]) == (0, None)
    StatsAnswer.model_validate_json(answer.content)


async def test_the_stats_are_fresh_where_no_worker_counts(app: Kairos, http: httpx2.AsyncClient) -> None:
    await lived(app)
    answer = await http.get("/api/stats?window=60")
    stats = answer.json()["stats"]
    assert stats["states"] == {
        "scheduled": 1, "pending": 0, "running": 1, "waiting": 0,
        "success": 2, "failed": 1, "cancelled": 0, "expired": 0,
    }  # fmt: skip
    window = stats["window"]
    assert (window["accepted"], window["success"], window["failed"], window["retried"]) == (5, 2, 1, 0)
    assert 60 <= window["seconds"] < 120
    assert window["perSecond"] == round(3 / window["seconds"], 3)
    assert stats["actions"][0]["action"] == "act"
    assert stats["actions"][0]["run"]["p50"] > 0
    assert [(queue["name"], queue["running"], queue["scheduled"]) for queue in stats["queues"]] == [
        ("default", 1, 0),
        ("later", 0, 1),
    ]
    StatsAnswer.model_validate_json(answer.content)


async def test_stats_name_the_busiest_queues_and_say_how_many_they_leave_out(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    @app.job
    async def act() -> None: ...

    names = [f"q{n:04}" for n in range(MOST_NAMES + 3)]
    calls = [act.options(queue=name).call() for name in names]
    await app.enqueue_many([*calls, *(act.options(queue=name).call() for name in names[3:])])
    answer = await http.get("/api/stats")
    stats = answer.json()["stats"]
    assert [queue["name"] for queue in stats["queues"]] == names[3:]
    assert (stats["queuesOmitted"], stats["actionsOmitted"]) == (3, 0)
    assert stats["states"]["pending"] == 2 * len(names) - 3  # those that are left out are counted
    StatsAnswer.model_validate_json(answer.content)


async def test_stats_say_how_many_actions_they_leave_out(app: Kairos) -> None:
    async with app:
        found = await app.run(operations.stats())
    at = found.now
    found.actions = [Slot(at, f"act{n}") for n in range(MOST_NAMES + 2)]
    document = stats_document(found)
    assert [each["action"] for each in document["actions"]] == [f"act{n}" for n in range(MOST_NAMES)]
    assert document["actionsOmitted"] == 2


async def test_what_is_due_next_is_told_by_schedule(app: Kairos, http: httpx2.AsyncClient) -> None:
    @app.job
    async def act() -> None: ...

    await app.schedules.add("nightly", "every day at 3am", act.call())
    (upcoming,) = (await http.get("/api/stats")).json()["stats"]["next"]
    assert upcoming["schedule"] == "nightly"
    assert datetime.fromisoformat(upcoming["at"]).hour == 3


async def test_many_who_ask_at_once_cost_one_look(
    served: Served, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    run = served.kairos.store.run

    async def counted(query):  # type: ignore[no-untyped-def]
        looks.append(query.name)
        return await run(query)

    monkeypatch.setattr(served.kairos.store, "run", counted)
    monkeypatch.setattr("kairos.api.stats_cache.FRESH", 60.0)
    for _ in range(5):
        await http.get("/api/stats")
    assert looks.count("list_queues") == 1


class Held:
    """Statements of the stats that wait until they are released, and how often each was run."""

    def __init__(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs: Counter[str] = Counter()
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()
        self._run = served.kairos.store.run
        monkeypatch.setattr(served.kairos.store, "run", self.run)

    async def run(self, query: Query) -> object:
        self.runs[query.name] += 1
        if query.name == "read_overview":
            self.arrived.set()
            await self.release.wait()
        return await self._run(query)


async def test_any_windows_share_what_does_not_depend_on_the_window(
    served: Served, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_cache, "FRESH", 60.0)
    held = Held(served, monkeypatch)
    held.release.set()
    windows = [60, 86400, *range(3601, 3631)]
    answers = await asyncio.gather(*(http.get(f"/api/stats?window={window}") for window in windows))
    assert [answer.status_code for answer in answers] == [200] * len(windows)
    assert (held.runs["list_queues"], held.runs["read_stats"]) == (1, 3)
    seconds = [answer.json()["stats"]["window"]["seconds"] for answer in answers]
    assert all(window <= found for window, found in zip(windows, seconds, strict=True))


def test_windows_are_rounded_up_to_a_few() -> None:
    windows = range(60, 86401)
    kept = {window: stats_cache.rounded(window) for window in windows}
    assert len(set(kept.values())) == 66
    assert all(window <= found <= max(window * 1.25, window + 60) for window, found in kept.items())
    assert [kept[window] for window in (60, 61, 1200, 1201, 3600, 3601, 86400)] == [
        60, 120, 1200, 1500, 3600, 4500, 86400,
    ]  # fmt: skip


async def test_clients_that_left_leave_no_work_behind(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(served, monkeypatch)
    monkeypatch.setattr(stats_cache, "FRESH", 60.0)
    async with httpx2.AsyncClient(base_url=served.url) as leaving:
        asked = [asyncio.create_task(leaving.get(f"/api/stats?window={3601 + n}")) for n in range(20)]
        await held.arrived.wait()
        for task in asked:
            task.cancel()
        await asyncio.wait(asked)
    held.release.set()
    assert (await served.http.get("/api/stats?window=3700")).status_code == 200
    assert held.runs["list_queues"] == 1


async def test_metrics_do_not_wait_for_those_who_ask_for_stats(
    served: Served, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(served, monkeypatch)
    asked = [asyncio.create_task(http.get(f"/api/stats?window={60 * n}")) for n in range(1, 20)]
    await held.arrived.wait()
    assert "kairos_database_up 1.0" in (await http.get("/metrics")).text
    held.release.set()
    assert {(await each).status_code for each in asked} == {200}


async def test_metrics_do_not_wait_for_a_connection_of_the_pool(
    app: Kairos, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_cache, "FRESH", 0.0)
    await http.get("/metrics")
    async with contextlib.AsyncExitStack() as taken:
        for _ in range(app.settings.pool_size):
            await taken.enter_async_context(app.store.connection())
        assert "kairos_database_up 1.0" in (await http.get("/metrics")).text


async def test_a_failed_read_is_tried_again_by_the_next_request(
    served: Served, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:

        async def away(query: Query) -> object:
            raise DatabaseUnavailable("away")

        broken.setattr(served.kairos.store, "run", away)
        assert (await http.get("/api/stats")).status_code == 503
    assert (await http.get("/api/stats")).status_code == 200


async def test_a_series_has_a_slot_for_every_step_and_the_present_one_is_last(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    await lived(app)
    answer = await http.get("/api/stats/series")
    series = answer.json()["series"]
    assert len(series) == 60
    assert sum(slot["accepted"] for slot in series[-2:]) == 5  # the minute may have turned meanwhile
    assert [slot["accepted"] for slot in series[:-2]] == [0] * 58
    SeriesAnswer.model_validate_json(answer.content)


async def test_a_series_can_be_of_one_action_and_queue(app: Kairos, http: httpx2.AsyncClient) -> None:
    await lived(app)
    now = datetime.now(UTC)
    asked = {
        "from": (now - timedelta(days=2)).isoformat(),
        "to": (now + timedelta(minutes=1)).isoformat(),
        "step": 3600,
    }
    for filters, expected in (({"queue": "later"}, 1), ({"action": "act"}, 5), ({"action": "none"}, 0)):
        series = (await http.get("/api/stats/series", params={**asked, **filters})).json()["series"]
        assert len(series) in (49, 50)
        assert sum(slot["accepted"] for slot in series) == expected


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("step=59", "step"),
        ("step=90", "step"),
        ("step=86401", "step"),
        ("from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", "from"),
        ("from=2020-01-01T00:00:00Z", "step"),
        ("from=2026-01-01T00:00:00", "from"),
        ("from=yesterday", "from"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
        ("action=", "action"),
    ],
)
async def test_a_series_that_cannot_be_is_refused_by_field(
    http: httpx2.AsyncClient, asked: str, field: str
) -> None:
    answer = await http.get(f"/api/stats/series?{asked}")
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)


@pytest.mark.parametrize("path", ["/api/stats", "/api/stats/series", "/metrics"])
async def test_it_takes_a_key_that_may_read(serve, path: str) -> None:  # type: ignore[no-untyped-def]
    async with serve(open=False) as served:
        assert (await served.http.get(path)).status_code == 401
