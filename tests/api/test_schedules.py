"""Schedules over HTTP: made, read, changed, fired; and intents as they are typed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from kairos import Context, Kairos
from kairos.api.schemas import schedules as schemas
from kairos.api.schemas.jobs import JobAnswer

WANTED = {"name": "nightly", "when": "every weekday at 9am in London", "action": "report"}


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job(redact=["token"])
    async def report(ctx: Context, day: str = "today", token: str = "") -> str:
        return day

    return app


async def make(http: httpx2.AsyncClient, **changes: Any) -> dict[str, Any]:
    answer = await http.post("/api/schedules", json={**WANTED, **changes})
    assert answer.status_code == 201, answer.text
    schemas.ScheduleAnswer.model_validate(answer.json())
    return answer.json()["schedule"]


async def test_a_schedule_is_made_with_its_sentence_and_its_next_ticks(http: httpx2.AsyncClient) -> None:
    made = await make(http, input={"day": "monday"}, catchUp="all", jitter="90s", queue="reports")
    assert (made["sentence"], made["input"]) == (
        "every weekday at 09:00 (Europe/London)",
        {"day": "monday"},
    )
    assert (made["catchUp"], made["jitter"], made["queue"], made["paused"]) == ("all", 90.0, "reports", False)
    assert len(made["nextTicks"]) == 5
    again = await http.get("/api/schedules/nightly")
    assert again.json()["schedule"] == made


async def test_a_name_that_is_taken_is_a_conflict(http: httpx2.AsyncClient) -> None:
    await make(http)
    for when in (WANTED["when"], "every day at 9am"):
        answer = await http.post("/api/schedules", json={**WANTED, "when": when})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
    assert (await http.get("/api/schedules/nightly")).json()["schedule"]["when"] == WANTED["when"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"action": "nothing"}, "action"),
        ({"input": {"days": 1}}, "days"),
        ({"overlap": "perhaps"}, "overlap"),
        ({"catchUpWithin": "soon"}, "catch_up_within"),
        ({"count": 0}, "count"),
        ({"count": "5"}, "count"),
        ({"start": 0}, "start"),
        ({"start": "2027-01-01T00:00:00"}, "start"),
        ({"runAt": "2027-01-01T00:00:00Z"}, "runAt"),
        ({"name": ""}, "name"),
        ({"end": "2020-01-01T00:00:00Z"}, "when"),
    ],
)
async def test_what_is_wrong_is_refused_with_the_field_named(
    http: httpx2.AsyncClient, changes: dict[str, Any], field: str
) -> None:
    answer = await http.post("/api/schedules", json={**WANTED, **changes})
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)
    assert (await http.get("/api/schedules")).json()["schedules"] == []


async def test_an_intent_that_is_not_understood_is_refused_with_its_place_and_suggestions(
    http: httpx2.AsyncClient,
) -> None:
    for path, body in [
        ("/api/schedules", {**WANTED, "when": "every monday"}),
        ("/api/intent", {"when": "every monday"}),
    ]:
        answer = await http.post(path, json=body)
        details = answer.json()["error"]["details"]
        assert answer.status_code == 422
        assert (details["position"], details["length"] > 0) == (0, True) or details["position"] > 0
        assert details["suggestions"]
        for suggestion in details["suggestions"]:
            assert (await http.post("/api/intent", json={"when": suggestion})).status_code == 200


async def test_an_intent_tells_its_sentence_and_its_next_ten_instants(http: httpx2.AsyncClient) -> None:
    answer = await http.post(
        "/api/intent", json={"when": "every day at 9am", "tz": "Europe/London", "now": "2027-01-01T00:00:00Z"}
    )
    schemas.IntentAnswer.model_validate(answer.json())
    intent = answer.json()["intent"]
    assert (intent["sentence"], intent["tz"], intent["recurring"]) == (
        "every day at 09:00 (Europe/London)",
        "Europe/London",
        True,
    )
    assert (intent["ticks"][0], len(intent["ticks"])) == ("2027-01-01T09:00:00Z", 10)


async def test_an_intent_for_once_is_not_recurring(http: httpx2.AsyncClient) -> None:
    intent = (await http.post("/api/intent", json={"when": "in 20 minutes"})).json()["intent"]
    assert (intent["recurring"], len(intent["ticks"])) == (False, 1)


async def test_a_list_goes_on_where_its_cursor_says(http: httpx2.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await make(http, name=name)
    first = (await http.get("/api/schedules", params={"limit": 2})).json()
    schemas.ScheduleList.model_validate(first)
    rest = (await http.get("/api/schedules", params={"limit": 2, "cursor": first["nextCursor"]})).json()
    assert [each["name"] for each in first["schedules"] + rest["schedules"]] == ["a", "b", "c"]
    assert rest["nextCursor"] is None


async def test_an_edit_changes_what_it_names_and_nothing_else(http: httpx2.AsyncClient) -> None:
    made = await make(http, input={"day": "monday", "token": "secret"}, count=9, tags=["x"], ttl="1h")
    answer = await http.patch("/api/schedules/nightly", json={"when": "every day at 7am", "overlap": "skip"})
    edited = answer.json()["schedule"]
    changed = {name for name in made if made[name] != edited[name]}
    assert changed == {"when", "sentence", "nextTicks", "overlap"}
    edited = (await http.patch("/api/schedules/nightly", json={"count": None})).json()["schedule"]
    assert (edited["count"], edited["when"]) == (None, "every day at 7am")


async def test_an_edit_keeps_what_is_hidden_inside_of_something_else(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    @app.job(redact=["card.number", "keys.secret"])
    async def pay(ctx: Context, card: dict[str, Any], keys: list[dict[str, Any]], day: str = "") -> None: ...

    stored = {
        "card": {"number": "4111", "name": "Ada"},
        "keys": [{"secret": "a"}, {"secret": "b"}],
        "day": "",
    }
    await make(http, action="pay", input=stored)
    shown = (await http.get("/api/schedules/nightly")).json()["schedule"]["input"]
    assert (shown["card"]["number"], shown["keys"]) == ("[redacted]", [{"secret": "[redacted]"}] * 2)
    answer = await http.patch("/api/schedules/nightly", json={"input": {**shown, "day": "friday"}})
    assert answer.status_code == 200, answer.text
    assert (await app.schedules.get("nightly")).input == {**stored, "day": "friday"}
    for changed, field in (
        ({"keys": shown["keys"][:1]}, "input.keys[0].secret"),  # of which of the two?
        ({"keys": [*shown["keys"], {"secret": "[redacted]"}]}, "input.keys[0].secret"),
    ):
        answer = await http.patch("/api/schedules/nightly", json={"input": {**shown, **changed}})
        assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)
    await make(http, name="bare", action="pay", input={**stored, "card": {}})
    answer = await http.patch("/api/schedules/bare", json={"input": shown})
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]["field"]) == (422, "input.card.number")
    assert (await app.schedules.get("nightly")).input == {**stored, "day": "friday"}


async def test_what_is_hidden_does_not_move_to_an_action_that_would_show_it(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    @app.job
    async def shows(ctx: Context, day: str = "", token: str = "") -> None: ...

    await make(http, input={"day": "monday", "token": "secret"})
    shown = (await http.get("/api/schedules/nightly")).json()["schedule"]["input"]
    for changes, field in (({}, "input"), ({"input": shown}, "input.token")):
        answer = await http.patch("/api/schedules/nightly", json={"action": "shows", **changes})
        assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)
    given = {"action": "shows", "input": {"day": "monday", "token": "mine"}}
    assert (await http.patch("/api/schedules/nightly", json=given)).status_code == 200


async def test_a_job_that_was_triggered_or_backfilled_tells_who_asked_and_by_which_request(
    http: httpx2.AsyncClient,
) -> None:
    await make(http, when="every day at 9am")
    past = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-03T00:00:00Z"}
    triggered = (await http.post("/api/schedules/nightly/trigger")).json()
    backfilled = (await http.post("/api/schedules/nightly/backfill", json=past)).json()
    assert len(backfilled["jobs"]) == 2
    for answer, jobs in ((triggered, [triggered["job"]]), (backfilled, backfilled["jobs"])):
        for made in jobs:
            job = (await http.get(f"/api/jobs/{made['id']}")).json()["job"]
            assert (job["createdBy"], job["requestId"]) == ("local", answer["requestId"])


async def test_an_edit_checks_new_arguments_and_keeps_what_is_hidden(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    await make(http, input={"day": "monday", "token": "secret"})
    shown = (await http.get("/api/schedules/nightly")).json()["schedule"]["input"]
    assert shown["token"] == "[redacted]"
    answer = await http.patch("/api/schedules/nightly", json={"input": {**shown, "day": "friday"}})
    assert answer.status_code == 200
    assert (await app.schedules.get("nightly")).input == {"day": "friday", "token": "secret"}
    answer = await http.patch("/api/schedules/nightly", json={"input": {"nights": 1}})
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, "nights")


async def test_null_where_there_must_be_something_is_refused(http: httpx2.AsyncClient) -> None:
    await make(http)
    answer = await http.patch("/api/schedules/nightly", json={"overlap": None})
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, "overlap")


async def test_a_pause_tells_since_when_and_why_and_ends_with_resume(http: httpx2.AsyncClient) -> None:
    await make(http)
    paused = (await http.post("/api/schedules/nightly/pause", json={"reason": "holidays"})).json()["schedule"]
    assert (paused["paused"], paused["pauseReason"], paused["pausedAt"] is not None) == (
        True,
        "holidays",
        True,
    )
    resumed = (await http.post("/api/schedules/nightly/resume")).json()["schedule"]
    assert (resumed["paused"], resumed["pausedAt"], resumed["pauseReason"]) == (False, None, None)
    assert (await http.post("/api/schedules/nightly/pause")).status_code == 200


async def test_a_trigger_makes_a_job_of_the_schedule(app: Kairos, http: httpx2.AsyncClient) -> None:
    await make(http, input={"day": "monday", "token": "secret"})
    answer = await http.post("/api/schedules/nightly/trigger")
    assert answer.status_code == 202
    JobAnswer.model_validate(answer.json())
    told = answer.json()["job"]
    assert told == (await http.get(f"/api/jobs/{told['id']}")).json()["job"]
    assert (told["schedule"], told["state"]) == ("nightly", "pending")
    assert told["input"] == {"day": "monday", "token": "[redacted]"}
    assert (await app.get(told["id"])).input["token"] == "secret"


async def test_a_trigger_that_cannot_be_answered_made_no_job(
    app: Kairos, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(http)
    with monkeypatch.context() as broken:
        broken.setitem(app.store.sql, "read_jobs", "select cardinality($1::bigint[]) / 0")
        assert (await http.post("/api/schedules/nightly/trigger")).status_code >= 500
    assert await app.jobs() == []


async def test_a_backfill_fires_the_past_once_and_its_ticks_are_listed_page_by_page(
    http: httpx2.AsyncClient,
) -> None:
    await make(http, when="every hour")
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    body = {"start": (hour - timedelta(hours=5)).isoformat(), "end": hour.isoformat()}
    answer = await http.post("/api/schedules/nightly/backfill", json=body)
    made = len(answer.json()["jobs"])
    assert (answer.status_code, made >= 4) == (202, True)
    assert (await http.post("/api/schedules/nightly/backfill", json=body)).json()["jobs"] == []
    seen: list[str] = []
    cursor = None
    while True:
        page = (
            await http.get(
                "/api/schedules/nightly/ticks", params={"limit": 2} | ({"cursor": cursor} if cursor else {})
            )
        ).json()
        schemas.TickList.model_validate(page)
        seen += [each["tickAt"] for each in page["ticks"]]
        if (cursor := page["nextCursor"]) is None:
            break
    assert (len(seen), seen) == (made, sorted(seen, reverse=True))


async def test_a_backfill_without_bounds_is_refused_and_says_how_far_to_go(http: httpx2.AsyncClient) -> None:
    await make(http, when="every second")
    answer = await http.post(
        "/api/schedules/nightly/backfill",
        json={"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"},
    )
    assert (answer.status_code, "in parts" in answer.json()["error"]["message"]) == (422, True)


async def test_a_backfill_of_a_large_input_is_refused_and_says_how_far_to_go(
    http: httpx2.AsyncClient,
) -> None:
    await make(http, when="every second", input={"day": "x" * 900_000})
    start = datetime(2026, 1, 1, tzinfo=UTC)
    asked = {"start": start.isoformat(), "end": (start + timedelta(seconds=300)).isoformat()}
    answer = await http.post("/api/schedules/nightly/backfill", json=asked)
    message = answer.json()["error"]["message"]
    assert (answer.status_code, "in parts" in message, "at most 74 of these 300" in message) == (
        422,
        True,
        True,
    )
    assert (start + timedelta(seconds=74)).isoformat() in message


@pytest.mark.parametrize("cursor", ["x", "2027-01-01T00:00:00~1", "2027-01-01T00:00:00Z~-1", "~", "\u0663"])
async def test_a_cursor_that_no_list_gave_is_refused(http: httpx2.AsyncClient, cursor: str) -> None:
    await make(http)
    answer = await http.get("/api/schedules/nightly/ticks", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BAD_CURSOR")


async def test_a_schedule_is_deleted_and_then_unknown_to_every_verb(http: httpx2.AsyncClient) -> None:
    await make(http)
    assert (await http.delete("/api/schedules/nightly")).json()["schedule"]["name"] == "nightly"
    past = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}
    for method, path, body in [
        ("GET", "", None),
        ("PATCH", "", {"count": 1}),
        ("DELETE", "", None),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("POST", "/trigger", None),
        ("POST", "/backfill", past),
        ("GET", "/ticks", None),
    ]:
        answer = await http.request(method, f"/api/schedules/nightly{path}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND"), (method, path)


async def test_what_code_declares_can_be_paused_here_but_is_changed_and_deleted_there(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    app.schedule("every day at 9am", name="declared")(app.action("report"))
    await app.synchronise()
    for method, body in [("PATCH", {"when": "every hour"}), ("DELETE", None)]:
        answer = await http.request(method, "/api/schedules/declared", json=body)
        assert (answer.status_code, "declared in code" in answer.json()["error"]["message"]) == (409, True)
    assert (await http.post("/api/schedules/declared/pause")).status_code == 200


async def test_what_a_named_app_declared_and_declares_no_more_can_be_deleted(
    database: str, http: httpx2.AsyncClient
) -> None:
    for declares in (True, False):
        async with Kairos(database, name="shop") as shop:

            @shop.job
            async def report() -> None: ...

            if declares:
                shop.schedule("every day at 9am", name="old")(report)
            await shop.synchronise()
        answer = await http.delete("/api/schedules/old")
        assert answer.status_code == (409 if declares else 200)


async def test_two_edits_at_once_do_not_undo_each_other(http: httpx2.AsyncClient) -> None:
    import asyncio

    await make(http)
    answers = await asyncio.gather(
        http.patch("/api/schedules/nightly", json={"overlap": "skip"}),
        http.patch("/api/schedules/nightly", json={"count": 5}),
    )
    done = [answer.status_code for answer in answers]
    now = (await http.get("/api/schedules/nightly")).json()["schedule"]
    assert set(done) <= {200, 409} and 200 in done
    assert (now["overlap"] == "skip") == (done[0] == 200)
    assert (now["count"] == 5) == (done[1] == 200)


async def test_an_action_is_known_from_the_workers_that_registered_it(
    database: str, http: httpx2.AsyncClient
) -> None:
    async with Kairos(database) as elsewhere:

        @elsewhere.job
        async def far(ctx: Context, miles: int) -> None: ...

        async with elsewhere.worker():
            pass
    made = await make(http, action="far", input={"miles": 3})
    assert made["input"] == {"miles": 3}
    answer = await http.post("/api/schedules", json={**WANTED, "name": "b", "action": "far", "input": {}})
    assert answer.status_code == 422


async def test_a_built_in_action_that_is_off_is_refused_and_says_how_to_turn_it_on(
    http: httpx2.AsyncClient,
) -> None:
    answer = await http.post(
        "/api/schedules", json={**WANTED, "action": "http", "input": {"url": "https://example.com"}}
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], "kairos.toml" in error["message"]) == (
        422,
        "UNKNOWN_ACTION",
        True,
    )


async def test_only_those_who_operate_may_change_schedules_and_all_may_read_them(
    app: Kairos, serve: Any
) -> None:
    from kairos.operations.keys import add_key

    tokens = {scope: (await app.run(add_key(scope, [scope])))[1] for scope in ("read", "enqueue", "operate")}
    async with serve(open=False) as served:
        for scope, token in tokens.items():
            async with served.as_key(token) as client:
                assert (await client.get("/api/schedules")).status_code == 200
                assert (await client.post("/api/intent", json={"when": "every hour"})).status_code == 200
                made = await client.post("/api/schedules", json={**WANTED, "name": scope})
                assert made.status_code == (201 if scope == "operate" else 403)
        async with httpx2.AsyncClient(base_url=served.url) as nobody:
            assert (await nobody.get("/api/schedules")).status_code == 401
