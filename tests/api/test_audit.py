"""The audit log: one row for each request for a change, written first, never changed, and out of reach."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx2
import psycopg
import pytest
from tests.api.service_process import Served
from tests.captured_logs import capture_logs

from kairos import Kairos, SyncKairos
from kairos.api import anonymous_audit
from kairos.operations import audit as log
from kairos.operations import keys as verbs
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query

WANTED = {"name": "x", "scopes": ["read"]}


async def rows(app: Kairos) -> list[tuple[Any, ...]]:
    """Oldest first: who, what, of what, how it ended."""
    return [(row.actor, row.verb, row.target, row.status) for row in reversed(await app.run(log.audit()))]


async def test_each_request_for_a_change_leaves_one_row_also_if_it_was_refused(
    served: Served, app: Kairos
) -> None:
    http = served.http
    await http.get("/api/keys")
    await http.delete("/api/keys/0000")
    await http.post("/api/keys", json={"name": 7})
    await http.post("/api/keys", content=b"{", headers={"Content-Type": "application/json"})
    await http.post("/api/keys", content=b"x", headers={"Content-Type": "text/plain"})
    await http.post("/api/keys", json=WANTED, headers={"Origin": "https://evil.example"})
    key = (await http.post("/api/keys", json=WANTED)).json()["key"]
    await http.post("/api/keys", json=WANTED)  # there is a key now: nobody in particular leaves no row
    async with served.as_key(key["secret"]) as reader:
        await reader.post("/api/keys", json=WANTED)
    actor = f"key:{key['id']}"
    assert await rows(app) == [
        ("local", "revokeKey", "0000", 404),
        ("local", "addKey", None, 422),
        ("local", "addKey", None, 422),
        ("local", "addKey", None, 415),
        ("local", "addKey", None, 403),
        ("local", "addKey", None, 201),
        (actor, "addKey", None, 403),
    ]


async def test_a_row_tells_the_request_and_no_secret(served: Served, app: Kairos) -> None:
    made = await served.http.post(
        "/api/keys", json={"name": "billing", "scopes": ["admin"]}, headers={"X-Request-Id": "mine"}
    )
    secret = made.json()["key"]["secret"]
    await served.http.post("/api/session", json={"key": secret})
    async with served.as_key(secret) as http:
        answer = (await http.get("/api/audit")).json()
    signed_in, added = answer["audit"]
    assert (added["requestId"], added["status"]) == ("mine", 201)
    assert added["details"] == {"key": made.json()["key"]["id"], "name": "billing", "scopes": ["admin"]}
    assert (signed_in["verb"], signed_in["actor"]) == ("signIn", "anonymous")
    assert signed_in["details"] == {"key": made.json()["key"]["id"]}
    assert secret.split("_", 2)[2] not in str(answer)
    assert answer["nextCursor"] is None


async def test_nobody_in_particular_leaves_no_row_however_often_they_ask(served: Served, app: Kairos) -> None:
    await app.run(verbs.add_key("x", ["read"]))
    served.service.access.clear_cache()
    async with served.as_key("kr_0000_guessed") as stranger:
        for _ in range(3):
            assert (await stranger.post("/api/keys", json=WANTED)).status_code == 401
    assert await rows(app) == []


async def test_an_origin_that_is_none_is_refused_and_put_down(http: httpx2.AsyncClient, app: Kairos) -> None:
    answer = await http.post("/api/session", json={"key": "x"}, headers={"Origin": "http://["})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert await rows(app) == [("anonymous", "signIn", None, 403)]


async def test_sign_ins_that_fail_leave_one_row_and_one_for_each_status_that_counts_the_others(
    served: Served, app: Kairos
) -> None:
    asked: dict[int, list[str]] = {}
    elsewhere = {"Origin": "http://elsewhere"}
    tries = [{"key": "kr_0000_guess"}, {"key": "other"}, {"key": ""}, {}, {"wrong": 1}]
    for body, headers in [(body, {}) for body in tries] + [({"key": "x"}, elsewhere)] * 3:
        answer = await served.http.post("/api/session", json=body, headers=headers)
        asked.setdefault(answer.status_code, []).append(answer.json()["requestId"])
    assert {status: len(requests) for status, requests in asked.items()} == {401: 2, 422: 3, 403: 3}
    assert await rows(app) == [("anonymous", "signIn", None, 401)]
    await served.service.anonymous_audit.flush()
    first, *counted = reversed(await app.run(log.audit()))
    assert (first.request_id, first.details) == (asked[401][0], {"address": "127.0.0.1"})
    assert [(row.status, row.request_id, row.details) for row in counted] == [
        (status, asked[status][-1], {"address": "127.0.0.1", "more": more})
        for status, more in ((401, 1), (422, 3), (403, 3))
    ]
    await served.http.post("/api/session", json={"key": "x"})
    assert len(await rows(app)) == 5, "the next one begins anew"


async def test_strangers_from_everywhere_leave_no_more_rows_than_are_told_apart(
    served: Served, app: Kairos
) -> None:
    asked = log.AuditedRequest("anonymous", "signIn", None, "r", 401)
    for number in range(100):
        for _ in range(2):
            await served.service.anonymous_audit.refused(f"10.0.0.{number}", asked)
    await served.service.anonymous_audit.flush()
    details = [row.details for row in await app.run(log.audit(limit=1000))]
    assert len(details) == 2 * (anonymous_audit.MOST_ADDRESSES + 1)
    assert sum(each.get("more", 1) for each in details) == 200
    assert {"address": "elsewhere", "more": 2 * 80 - 1} in details


async def test_a_service_that_closes_puts_down_what_it_counted(served: Served, app: Kairos) -> None:
    for _ in range(3):
        await served.http.post("/api/session", json={"key": "x"})
    await served.service.close()
    assert [row.details.get("more") for row in await app.run(log.audit())] == [2, None]


async def test_a_service_that_closes_waits_for_the_rows_that_are_being_put_down(
    served: Served, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await served.http.post("/api/session", json={"key": "x"})
    begun, go_on = asyncio.Event(), asyncio.Event()
    begin = served.service.audit_writer.begin

    async def slowly(asked: log.AuditedRequest) -> int:
        begun.set()
        await go_on.wait()
        return await begin(asked)

    monkeypatch.setattr(served.service.audit_writer, "begin", slowly)
    served.service.anonymous_audit.start_flush()
    await begun.wait()
    closing = asyncio.create_task(served.service.close())
    await app.run(log.audit())  # a way to the database and back: whoever does not wait is through by now
    assert not closing.done()
    go_on.set()
    await closing
    assert [row.details.get("more") for row in await app.run(log.audit())] == [2, None]


async def test_a_sign_in_that_is_good_is_put_down_before_there_is_a_session(
    served: Served, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = await app.run(verbs.add_key("Ada", ["read"]))
    for _ in range(2):
        await served.http.post("/api/session", json={"key": "x"})
    assert (await served.http.post("/api/session", json={"key": token})).status_code == 201
    assert (await rows(app))[-1] == ("anonymous", "signIn", None, 201)
    fail_on(monkeypatch, "insert_audit")
    with capture_logs():
        assert (await served.http.post("/api/session", json={"key": token})).status_code == 503
    async with app.store.connection() as connection:
        assert await connection.fetchval("select count(*) from kairos.sessions") == 1


async def test_a_change_tells_which_fields_it_was_to_change_and_never_their_values(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    @app.job
    async def report(day: str = "today") -> None: ...

    wanted = {"name": "nightly", "when": "every day at 9am", "action": "report"}
    assert (await http.post("/api/schedules", json=wanted)).status_code == 201
    body = {"catchUp": "all", "input": {"day": "a secret"}}
    assert (await http.patch("/api/schedules/nightly", json=body)).status_code == 200
    assert (await http.patch("/api/queues/mail", json={"keyConcurrency": 3})).status_code == 200
    job = (await http.post("/api/jobs", json={"action": "report", "when": "in 1 day"})).json()["job"]["id"]
    assert (await http.patch(f"/api/jobs/{job}", json={"priority": 4})).status_code == 200
    hook = (await http.post("/api/webhooks", json={"url": "https://example.com"})).json()["webhook"]["id"]
    assert (await http.patch(f"/api/webhooks/{hook}", json={"paused": True})).status_code == 200
    details = {row.verb: row.details for row in await app.run(log.audit())}
    assert details["addSchedule"] == {"schedule": "nightly"}
    assert details["editSchedule"] == {"changed": ["catchUp", "input"]}
    assert details["limitQueue"] == {"changed": ["keyConcurrency"]}
    assert details["editJob"] == {"changed": ["priority"]}
    assert details["changeWebhook"] == {"changed": ["paused"]}


async def test_a_question_leaves_no_row_though_it_has_a_body(http: httpx2.AsyncClient, app: Kairos) -> None:
    assert (await http.post("/api/intent", json={"when": "every day at 9am", "tz": "UTC"})).status_code == 200
    assert (await http.post("/api/intent", json={"when": 7})).status_code == 422
    assert (await http.post("/api/intent", content=b"{")).status_code == 415
    assert await rows(app) == []


async def test_the_log_is_read_in_pages_and_by_actor_and_verb(http: httpx2.AsyncClient) -> None:
    for number in range(5):
        await http.delete(f"/api/keys/{number}")
    await http.post("/api/keys", json={})
    first = (await http.get("/api/audit?limit=2&verb=revokeKey")).json()
    second = (await http.get(f"/api/audit?limit=3&verb=revokeKey&cursor={first['nextCursor']}")).json()
    targets = [row["target"] for row in first["audit"] + second["audit"]]
    assert targets == ["4", "3", "2", "1", "0"]
    assert (await http.get("/api/audit?actor=nobody")).json()["audit"] == []
    assert len((await http.get("/api/audit?target=3")).json()["audit"]) == 1
    for cursor in ("0", "-1", "x", "9" * 30, "1;drop"):
        assert (await http.get("/api/audit", params={"cursor": cursor})).status_code == 422


async def test_a_change_whose_row_cannot_be_written_is_not_made(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_on(monkeypatch, "insert_audit")
    with capture_logs():
        answer = await http.post("/api/keys", json=WANTED)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert await app.run(verbs.keys()) == []


async def test_a_change_whose_end_cannot_be_written_says_so_by_having_none(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_on(monkeypatch, "finish_audit")
    with capture_logs() as logs:
        assert (await http.delete("/api/keys/0")).status_code == 404
    assert await rows(app) == [("local", "revokeKey", "0", None)]
    assert "missing in the audit log" in logs[-1]["event"] or any(
        "audit log" in each["event"] for each in logs
    )


async def test_many_at_once_each_leave_their_own_row(http: httpx2.AsyncClient, app: Kairos) -> None:
    await asyncio.gather(*(http.delete(f"/api/keys/{number}") for number in range(60)))
    found = await app.run(log.audit(limit=1000))
    assert sorted(int(row.target or "") for row in found) == list(range(60))
    assert {row.status for row in found} == {404}


@pytest.fixture
def runtime(database: str, kairos_admin: psycopg.Connection[Any]) -> Iterator[psycopg.Connection[Any]]:
    """A connection as the role that the documentation tells to run the service as."""
    name = "kairos_runtime_test"
    with psycopg.connect(database, autocommit=True) as owner:
        kairos_admin.execute(f"drop role if exists {name}".encode())
        kairos_admin.execute(f"create role {name} login".encode())
        SyncKairos(database, runtime_role=name).migrate()
        with psycopg.connect(database, user=name, autocommit=True) as connection:
            yield connection
        owner.execute(f"drop owned by {name}".encode())
        kairos_admin.execute(f"drop role {name}".encode())


@pytest.mark.parametrize("table", ["audit", "audit_ends"])
@pytest.mark.parametrize(
    "sql",
    [
        "update kairos.{} set status = 200",
        "delete from kairos.{}",
        "truncate kairos.{} cascade",
        "drop table kairos.{}",
    ],
)
def test_the_role_that_runs_the_service_cannot_touch_the_log(
    runtime: psycopg.Connection[Any], sql: str, table: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
        runtime.execute(sql.format(table).encode())
    assert refused.value.sqlstate == "42501"


def test_the_role_that_runs_the_service_cannot_change_the_schema_or_call_retention(
    runtime: psycopg.Connection[Any],
) -> None:
    for sql in (
        "create table kairos.mine (id int)",
        "select kairos.forget_audit('2 days', 1)",
        "alter table kairos.audit disable trigger all",
        "set session_replication_role = replica",
        "create or replace function kairos.audit_retention() returns interval language sql as $$ select null $$",
        "alter function kairos.retire_audit(int) rename to other",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            runtime.execute(sql.encode())


async def test_the_service_runs_as_that_role(runtime: psycopg.Connection[Any], database: str) -> None:
    from tests.api.service_process import serving

    user = runtime.info.user
    async with (
        Kairos(database.replace("://kairos@", f"://{user}@")) as app,
        serving(app, open=True) as served,
    ):
        assert (await served.http.get("/readyz")).status_code == 200
        assert (await served.http.post("/api/keys", json={**WANTED, "scopes": ["admin"]})).status_code == 201
        assert [row[1:] for row in await rows(app)] == [("addKey", None, 201)]
    with psycopg.connect(database) as owner:
        assert owner.execute("select count(*) from kairos.audit").fetchone() == (1,)


@pytest.mark.parametrize("table", ["audit", "audit_ends"])
@pytest.mark.parametrize(
    "sql", ["update kairos.{} set status = 200", "delete from kairos.{}", "truncate kairos.{} cascade"]
)
async def test_not_even_the_owner_changes_the_log_by_mistake(
    http: httpx2.AsyncClient, database: str, sql: str, table: str
) -> None:
    await http.delete("/api/keys/0")
    with psycopg.connect(database, autocommit=True) as owner, pytest.raises(psycopg.Error) as refused:
        owner.execute(sql.format(table).encode())
    assert refused.value.sqlstate == "KA403"


async def test_retention_removes_what_is_old_and_nothing_within_a_day(
    http: httpx2.AsyncClient, app: Kairos, database: str
) -> None:
    from kairos.testing import Clock

    clock = await Clock(app).install()
    await clock.freeze()
    await http.delete("/api/keys/old")
    await clock.move("2d")
    await http.delete("/api/keys/new")
    with psycopg.connect(database, autocommit=True) as owner:
        forget = "select kairos.forget_audit('2 days', 1000)"
        assert owner.execute(forget).fetchone() == (0,)
        await clock.move(1e-6)
        assert owner.execute(forget).fetchone() == (1,)
        assert [row[2] for row in await rows(app)] == ["new"]
        with pytest.raises(psycopg.Error, match="a day at least"):
            owner.execute("select kairos.forget_audit('23 hours', 1)")


async def test_the_sweep_of_a_worker_removes_what_is_older_than_the_owner_said(
    http: httpx2.AsyncClient, app: Kairos, runtime: psycopg.Connection[Any], database: str
) -> None:
    """As the role that may not touch the log otherwise."""
    from kairos.testing import Clock
    from kairos.worker.pruner import Pruner

    clock = await Clock(app).install()
    await clock.freeze()
    user = runtime.info.user
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"grant select on kairos.clock to {user}".encode())
    for number in range(3):
        await http.delete(f"/api/keys/old{number}")
    await clock.move("400d")
    await http.delete("/api/keys/new")
    async with Kairos(database.replace("://kairos@", f"://{user}@")) as worker:
        pruner = Pruner(worker.store, timedelta(days=7))
        await pruner.tick()
        assert len(await rows(app)) == 4
        await clock.move(1e-6)
        await pruner.tick()
    assert [row[2] for row in await rows(app)] == ["new"]


def fail_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As if the database went away just when this statement was sent."""
    real = AsyncStore.run_without_fsync

    async def run(self: AsyncStore, query: Query) -> Any:
        if query.name == name:
            from kairos.errors import DatabaseUnavailable

            raise DatabaseUnavailable("gone")
        return await real(self, query)

    monkeypatch.setattr(AsyncStore, "run_without_fsync", run)
