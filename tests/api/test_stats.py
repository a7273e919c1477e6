"""What happened lately and how things stand, over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from tests.api.serving import Served
from tests.rig import Rig, done, stop

from kairos import Kairos
from kairos.api.schemas_stats import SeriesAnswer, StatsAnswer


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
    monkeypatch.setattr("kairos.api.snapshots._FRESH", 60.0)
    for _ in range(5):
        await http.get("/api/stats")
    assert looks.count("list_queues") == 1


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
