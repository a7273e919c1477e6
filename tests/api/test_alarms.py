"""Alarms and webhooks over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from tests.alarms.webhook_receiver import Receiver, app, receiver  # noqa: F401 (fixtures)
from tests.engine_statements import Rig, stop
from tests.worker.world import ended, until

from kairos import Kairos
from kairos.alarms.kinds import KINDS
from kairos.api import alarm_refresh
from kairos.api.schemas import alarms as schemas
from kairos.api.schemas import webhooks as webhook_schemas
from kairos.api.schemas.base import model_of
from kairos.operations import keys
from kairos.shapes.alarm import Alarm
from kairos.store.query import Query

NOTE = "insert into kairos.incidents (kind, subject, at, job_id, detail) values ('jobs_failed', $1, now(), 7, 'no')"


async def look_again(app: Kairos) -> None:
    """As if nobody had looked for a while."""
    await Rig(app.store).fetch("delete from kairos.watch")


async def test_the_alarms_that_are_known_are_answered_while_a_look_takes_long(
    app: Kairos, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Rig(app.store).fetch(NOTE, "act")
    assert len((await http.get("/api/alarms")).json()["alarms"]) == 1
    monkeypatch.setattr(alarm_refresh, "TIMEOUT", 0.2)
    await look_again(app)
    async with app.store.transaction() as connection:
        # Somebody else looks, and does not come to an end.
        await app.store.on(connection, Query("lock_alarm_check"))
        answer = await http.get("/api/alarms")
        assert answer.status_code == 200
        assert [each["kind"] for each in answer.json()["alarms"]] == ["jobs_failed"]


async def test_alarms_are_looked_for_when_they_are_asked_for_and_no_worker_need_be_there(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    assert (await http.get("/api/alarms")).json()["alarms"] == []
    rig = Rig(app.store)
    job = await rig.enqueue()
    hand = rig.worker()
    await hand.commit(*map(stop, await hand.pick()))
    await look_again(app)
    answer = await http.get("/api/alarms")
    assert answer.status_code == 200
    schemas.AlarmList.model_validate_json(answer.content)
    (alarm,) = answer.json()["alarms"]
    assert (alarm["kind"], alarm["subject"], alarm["severity"], alarm["count"]) == (
        "jobs_failed",
        "act",
        "error",
        1,
    )
    assert alarm["cause"] == f"1 job of act failed; the last was job {job}: no."
    assert alarm["firstAt"].endswith("Z")


async def test_an_alarm_is_acknowledged_with_a_name_and_then_cleared(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    await Rig(app.store).fetch(NOTE, "act")
    (alarm,) = (await http.get("/api/alarms")).json()["alarms"]
    answer = await http.post(f"/api/alarms/{alarm['id']}/acknowledge")
    schemas.AlarmAnswer.model_validate_json(answer.content)
    assert answer.json()["alarm"]["acknowledgedBy"] == "local"
    await look_again(app)
    assert (await http.get("/api/alarms")).json()["alarms"] == []
    (cleared,) = (await http.get("/api/alarms", params={"all": "true"})).json()["alarms"]
    assert (cleared["id"], cleared["clearedAt"] is not None) == (alarm["id"], True)
    again = await http.post(f"/api/alarms/{alarm['id']}/acknowledge")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "CONFLICT")
    unknown = await http.post("/api/alarms/999999/acknowledge")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_alarms_come_in_pages(app: Kairos, http: httpx2.AsyncClient) -> None:
    for number in range(5):
        await Rig(app.store).fetch(NOTE, f"act {number}")
    seen: list[str] = []
    cursor = None
    while True:
        asked = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await http.get("/api/alarms", params=asked)).json()
        seen += [alarm["subject"] for alarm in page["alarms"]]
        if (cursor := page["nextCursor"]) is None:
            break
    assert sorted(seen) == [f"act {number}" for number in range(5)]
    assert (await http.get("/api/alarms", params={"cursor": "nonsense"})).status_code == 422


async def test_a_webhook_is_made_listed_changed_tested_and_removed(
    app: Kairos, http: httpx2.AsyncClient, receiver: Receiver
) -> None:
    made = await http.post("/api/webhooks", json={"url": receiver.url, "kinds": ["jobs_failed"]})
    assert made.status_code == 201
    webhook_schemas.WebhookMadeAnswer.model_validate_json(made.content)
    hook = made.json()["webhook"]
    listed = await http.get("/api/webhooks")
    webhook_schemas.WebhookList.model_validate_json(listed.content)
    assert listed.json()["webhooks"] == [{name: hook[name] for name in hook if name != "secret"}]
    changed = await http.patch(f"/api/webhooks/{hook['id']}", json={"kinds": [], "paused": True})
    webhook_schemas.WebhookAnswer.model_validate_json(changed.content)
    assert changed.json()["webhook"] == {
        "id": hook["id"],
        "url": receiver.url,
        "kinds": [],
        "paused": True,
        "createdAt": hook["createdAt"],
        "lastDelivery": None,
    }
    test = await http.post(f"/api/webhooks/{hook['id']}/test")
    assert test.status_code == 202
    webhook_schemas.WebhookTest.model_validate_json(test.content)
    job = test.json()["job"]
    assert job == (await http.get(f"/api/jobs/{job['id']}")).json()["job"]
    assert (job["createdBy"], job["requestId"]) == ("local", test.json()["requestId"])
    async with app.worker(poll=0.1):
        await ended(app, job["id"])
    (sent,) = receiver.received
    assert (sent.event["type"], sent.event["alarm"], sent.verifies(hook["secret"])) == ("test", None, True)
    (listed_again,) = (await http.get("/api/webhooks")).json()["webhooks"]
    assert (listed_again["lastDelivery"]["job"], listed_again["lastDelivery"]["state"]) == (
        job["id"],
        "success",
    )
    removed = await http.delete(f"/api/webhooks/{hook['id']}")
    assert (removed.status_code, "secret" in removed.text) == (200, False)
    assert (await http.get("/api/webhooks")).json()["webhooks"] == []
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/test")):
        body: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
        gone = await http.request(method, f"/api/webhooks/{hook['id']}{path}", **body)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_a_test_that_cannot_be_answered_made_no_job(
    app: Kairos, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = (await http.post("/api/webhooks", json={"url": "https://example.com/"})).json()["webhook"]
    read = app.store.sql["list_webhooks"]
    with monkeypatch.context() as broken:  # it can be read until there is a job
        jobs = "(select count(*) from kairos.gen_durable)"
        broken.setitem(app.store.sql, "list_webhooks", f"select * from ({read}) w where 1 / (1 - {jobs}) = 1")
        assert (await http.post(f"/api/webhooks/{hook['id']}/test")).status_code >= 500
    assert await app.jobs() == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "file:///etc/passwd"}, "url"),
        ({"url": "https://me:pw@example.com"}, "url"),
        ({"url": "https://example.com", "kinds": ["none"]}, "kinds"),
        ({"url": "https://example.com", "secret": "mine"}, "secret"),
        ({}, "url"),
    ],
    ids=["scheme", "password", "kind", "unknown field", "no url"],
)
async def test_a_webhook_that_makes_no_sense_is_refused_with_the_field_named(
    http: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    refused = await http.post("/api/webhooks", json=body)
    assert refused.status_code == 422
    assert field in str(refused.json()["error"]["details"])
    assert "pw" not in refused.text


async def test_alarms_are_read_operated_and_sent_on_by_who_may(
    app: Kairos, serve: Callable[..., Any]
) -> None:
    await Rig(app.store).fetch(NOTE, "act")
    async with serve(open=False) as served:
        statuses = {}
        for scope in ("read", "enqueue", "operate", "admin"):
            token = (await app.run(keys.add_key("a test", [scope])))[1]
            async with served.as_key(token) as http:
                (alarm,) = (await http.get("/api/alarms")).json()["alarms"]
                statuses[scope] = (
                    (await http.post(f"/api/alarms/{alarm['id']}/acknowledge")).status_code,
                    (await http.get("/api/webhooks")).status_code,
                    (await http.post("/api/webhooks", json={"url": "https://example.com"})).status_code,
                )
        assert statuses == {
            "read": (403, 403, 403),
            "enqueue": (403, 403, 403),
            "operate": (200, 403, 403),
            "admin": (200, 200, 201),
        }
        assert (await served.http.get("/api/alarms")).status_code == 401


async def test_the_audit_log_names_the_webhook_and_not_its_secret(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    hook = (await http.post("/api/webhooks", json={"url": "https://example.com"})).json()["webhook"]

    async def audited() -> list[Any]:
        return (await http.get("/api/audit")).json()["audit"]

    rows = await until(audited, "the audit row")
    assert hook["secret"] not in str(rows)
    assert str(hook["id"]) in str(rows)


def test_the_kinds_in_the_document_are_those_there_are() -> None:
    schema = model_of(Alarm).model_json_schema()
    assert schema["properties"]["kind"]["enum"] == list(KINDS)
