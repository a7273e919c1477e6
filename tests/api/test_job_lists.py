"""Lists of jobs over HTTP: every filter, page by page, and verbs for all that a filter finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served
from tests.shared_database import database, kept_database, quiet

from kairos import Context, Kairos, KairosClient
from kairos.api.schemas import jobs as schemas
from kairos.errors import BadRequest
from kairos.operations import find_jobs
from kairos.testing import drain

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job
    async def send(ctx: Context, n: int = 0) -> int:
        return n

    @app.job
    async def fail(ctx: Context) -> None:
        raise ValueError("The Printer Is On Fire")

    return app


async def fill(app: Kairos, count: int = 1, action: str = "send", **options: Any) -> list[int]:
    chosen = app.action(action).options(**options)
    return [job.id for job in await app.enqueue_many(chosen.call() for _ in range(count))]


async def found(http: httpx2.AsyncClient, **query: Any) -> list[int]:
    """Every page of a list."""
    ids: list[int] = []
    cursor: str | None = None
    while True:
        answer = await http.get("/api/jobs", params={**query, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        schemas.JobList.model_validate(answer.json())
        ids += [job["id"] for job in answer.json()["jobs"]]
        cursor = answer.json()["nextCursor"]
        if cursor is None:
            return ids


async def test_every_filter_finds_what_it_names_and_they_add_up(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    (mail,) = await fill(app, queue="mail", tags=["red", "Customer:7"], key="k1", unique="Order/42")
    (blue,) = await fill(app, queue="mail", tags=["blue"], key="k2")
    (later,) = await fill(app, delay=3600)
    (broken,) = await fill(app, action="fail", queue="broken")
    await drain(app)
    (new,) = await fill(app)
    asked: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [new, broken, later, blue, mail]),
        ({"state": "pending"}, [new]),
        ({"state": "scheduled"}, [later]),
        ({"state": ["failed", "scheduled"]}, [broken, later]),
        ({"state": "success"}, [blue, mail]),
        ({"state": "running"}, []),
        ({"action": "fail"}, [broken]),
        ({"action": "send", "state": "success"}, [blue, mail]),
        ({"queue": "mail"}, [blue, mail]),
        ({"tag": "red"}, [mail]),
        ({"key": "k2"}, [blue]),
        ({"key": "k2", "queue": "other"}, []),
        ({"schedule": "nightly"}, []),
        ({"text": "printer is"}, [broken]),
        ({"text": "customer:"}, [mail]),
        ({"text": "order/4"}, [mail]),
        ({"text": "FAI"}, [broken]),
        ({"text": "100%"}, []),
        ({"text": "k1"}, [mail]),
    ]
    for query, expected in asked:
        for limit in (1, 2, 50):
            assert await found(http, **query, limit=limit) == expected, (query, limit)


async def test_a_time_range_holds_its_beginning_and_not_its_end(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    jobs = [(await fill(app))[0] for _ in range(5)]
    times = [(await app.get(job)).inserted_at for job in jobs]
    middle, end = times[1], times[3]
    assert middle is not None and end is not None
    assert await found(http, **{"from": middle.isoformat()}) == jobs[:0:-1]
    assert await found(http, **{"from": middle.isoformat(), "to": end.isoformat()}) == [jobs[2], jobs[1]]
    assert await found(http, to=middle.isoformat()) == [jobs[0]]
    assert await found(http, to="2001-01-01T00:00:00Z") == []


async def test_ids_that_follow_time_are_found_by_it_in_any_table(app: Kairos) -> None:
    """The search for where a time begins, on ids with gaps, at every place and on both sides of it."""
    async with app.store.connection() as connection:
        assert await connection.fetchval("select coalesce(kairos.id_at(now()), -1)") == 1
        await connection.execute(
            """insert into kairos.gen_durable (id, fsm, step, eligible_at, inserted_at, updated_at)
               overriding system value
               select n * n, 'a', 'run', now(), timestamptz '2026-01-01' + n * interval '1 s', now()
               from generate_series(3, 40) n"""
        )
        for n in range(3, 41):
            at = "select kairos.id_at(timestamptz '2026-01-01' + $1 * interval '1 s' + $2 * interval '1 us')"
            assert await connection.fetchval(at, n, 0) == n * n
            assert await connection.fetchval(at, n, -1) == n * n
            after = await connection.fetchval(at, n, 1)
            assert n * n < after <= (n + 1) ** 2, n


@pytest.fixture
def short_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_jobs, "MAX_SCANNED", 3)


@pytest.mark.usefixtures("short_walks")
async def test_a_walk_that_is_too_short_goes_on_and_misses_nothing(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    rare = await fill(app, queue="rare", tags=["rare"])
    await fill(app, 10, queue="other", tags=["often"])
    rare += await fill(app, queue="rare", tags=["rare"])
    often = await fill(app, 10, queue="other", tags=["often"])
    first = (await http.get("/api/jobs", params={"text": "rare", "limit": 2})).json()
    assert (first["jobs"], first["nextCursor"] is not None) == ([], True)
    looked_at = (await app.get(often[-3])).inserted_at
    assert looked_at is not None and datetime.fromisoformat(first["searchedTo"]) == looked_at
    assert await found(http, text="rare", limit=2) == rare[::-1]
    assert [job.id for job in await app.jobs(text="rare", limit=5)] == rare[::-1]
    # A queue is answered whole by its index, however many newer jobs there are elsewhere.
    whole = (await http.get("/api/jobs", params={"queue": "rare", "limit": 2})).json()
    assert [job["id"] for job in whole["jobs"]] == rare[::-1]
    assert (whole["nextCursor"], whole["searchedTo"]) == (None, None)
    # A rare tag has an index of its own, and is found at once.
    tagged = (await http.get("/api/jobs", params={"tag": "rare", "limit": 5})).json()
    assert ([job["id"] for job in tagged["jobs"]], tagged["nextCursor"]) == (rare[::-1], None)
    assert (await found(http, tag="often", limit=4))[:10] == often[::-1]


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "%00",
        "YmVmb3JlOjA",
        "YmVmb3JlOi0x",
        "YmVmb3JlOjAx",
        "é",
        "YmVmb3JlOjk5OTk5OTk5OTk5OTk5OTk5OTk5",
    ],
)
async def test_a_cursor_that_no_list_gave_out_is_refused(http: httpx2.AsyncClient, cursor: str) -> None:
    answer = await http.get("/api/jobs", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BAD_CURSOR")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"state": "done"}, "state[0]"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-01-01T00:00:00"}, "from"),
        ({"to": "0001-01-01T00:00:00+14:00"}, "to"),
        ({"queue": ""}, "queue"),
        ({"queue": "a\x00b"}, "queue"),
        ({"text": "x" * 256}, "text"),
    ],
    ids=str,
)
async def test_a_filter_that_makes_no_sense_is_refused(
    http: httpx2.AsyncClient, query: dict[str, Any], field: str
) -> None:
    answer = await http.get("/api/jobs", params=query)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)


# Bulk


@pytest.fixture
async def bulk(http: httpx2.AsyncClient) -> AsyncIterator[Any]:
    async def bulk(verb: str, wanted: Any, **more: Any) -> dict[str, Any]:
        answer = await http.post(f"/api/jobs/bulk/{verb}", json={"filter": wanted, **more})
        assert answer.status_code == 200, answer.text
        schemas.BulkAnswer.model_validate(answer.json())
        return {name: answer.json()[name] for name in ("matched", "done", "refused", "nextCursor")}

    yield bulk


async def test_a_dry_run_counts_and_changes_nothing(app: Kairos, bulk: Any) -> None:
    await fill(app, 3, queue="q")
    (ended,) = await fill(app, queue="q")
    await app.cancel(ended)
    for verb, refused in (("cancel", 1), ("retry", 3), ("run-now", 4), ("delete", 3)):
        counted = await bulk(verb, {"queue": "q"}, dryRun=True)
        assert counted == {"matched": 4, "done": 0, "refused": refused, "nextCursor": None}, verb
    assert len(await app.jobs(state="pending")) == 3


async def test_many_jobs_are_cancelled_by_one_request_each_with_its_history(app: Kairos, bulk: Any) -> None:
    jobs = await fill(app, 3, queue="q", key="one") + await fill(app, 2, queue="q", delay=60)
    others = await fill(app, 2)
    await app.cancel(jobs[0])
    done = await bulk("cancel", {"queue": "q"}, reason="a flood")
    assert done == {"matched": 5, "done": 4, "refused": 1, "nextCursor": None}
    assert {job.id for job in await app.jobs(state="cancelled")} == set(jobs)
    assert {job.id for job in await app.jobs(state="pending")} == set(others)
    for job in jobs[1:]:
        (row,) = await app.history(job)
        assert (row.verb, row.actor, row.reason) == ("cancel", "local", "a flood")


async def test_the_next_of_a_key_runs_when_those_before_it_were_cancelled_together(
    app: Kairos, bulk: Any
) -> None:
    await fill(app, 3, queue="default", key="one", tags=["old"])
    (last,) = await fill(app, key="one")
    assert (await bulk("cancel", {"tag": "old"}))["done"] == 3
    assert await drain(app) == 1
    assert (await app.get(last)).state == "success"


async def test_failed_jobs_are_retried_together(app: Kairos, bulk: Any) -> None:
    failed = await fill(app, 3, action="fail", unique=None)
    (kept,) = await fill(app, action="fail", unique="u")
    await drain(app)
    await fill(app, unique="u")  # the key of one is taken by now
    done = await bulk("retry", {"state": "failed"})
    assert done == {"matched": 4, "done": 3, "refused": 1, "nextCursor": None}
    retried = await app.jobs(state="pending", action="fail")
    assert sorted(job.retry_of for job in retried) == failed
    assert {(job.created_by, job.step) for job in retried} == {("local", "run")}
    assert kept not in {job.retry_of for job in retried}


async def test_scheduled_jobs_are_run_now_together(app: Kairos, bulk: Any) -> None:
    await fill(app, 2, delay=60)
    await fill(app)
    done = await bulk("run-now", {"action": "send"})
    assert (done["done"], done["refused"]) == (2, 1)
    assert await drain(app) == 3


async def test_ended_jobs_are_deleted_together_and_the_ledger_balances(app: Kairos, bulk: Any) -> None:
    await fill(app, 3)
    await fill(app, 2, action="fail")
    await drain(app)
    live = await fill(app, 2)
    done = await bulk("delete", {"text": "a"}, dryRun=False)
    assert done["matched"] == done["done"] == 2
    done = await bulk("delete", {"action": "send"})
    assert (done["done"], done["refused"]) == (3, 2)
    assert {job.id for job in await app.jobs()} == set(live)
    async with app.store.connection() as connection:
        purged = await connection.fetchval("select sum(jobs) from kairos.purged")
        left = await connection.fetchval("select count(*) from kairos.history")
    assert (purged, left) == (5, 0)


async def test_portions_of_a_thousand_follow_each_other(app: Kairos, bulk: Any) -> None:
    await fill(app, 2100)
    first = await bulk("cancel", {"state": "pending"})
    assert (first["matched"], first["done"]) == (1000, 1000)
    second = await bulk("cancel", {"state": "pending"}, cursor=first["nextCursor"])
    third = await bulk("cancel", {"state": "pending"}, cursor=second["nextCursor"])
    assert (third["matched"], third["nextCursor"]) == (100, None)
    assert await app.jobs(state="pending") == []


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("cancel", {"filter": {}}, 422),
        ("cancel", {}, 422),
        ("cancel", {"filter": {"colour": "red"}}, 422),
        ("cancel", {"filter": {"state": "done"}}, 422),
        ("cancel", {"filter": {"queue": "q"}, "cursor": "x"}, 422),
        ("explode", {"filter": {"queue": "q"}}, 422),
    ],
    ids=str,
)
async def test_a_bulk_request_that_makes_no_sense_is_refused(
    http: httpx2.AsyncClient, verb: str, body: Any, status: int
) -> None:
    assert (await http.post(f"/api/jobs/bulk/{verb}", json=body)).status_code == status


@pytest.mark.usefixtures("short_walks")
async def test_a_search_that_no_index_serves_ends_with_a_sentence(app: Kairos, served: Served) -> None:
    """An endless search of millions of jobs is refused; what it found of the newest ones is named."""
    await fill(app, 101 * 3, queue="other")
    with pytest.raises(BadRequest, match=r"No index finds jobs by text: 0 were found .* before=\d+"):
        await app.jobs(text="rare", limit=2)
    async with KairosClient(served.url) as client:
        with pytest.raises(BadRequest, match=r"No index finds jobs by text: 0 were found .* cursor="):
            [job async for job in client.jobs(text="rare", limit=2)]
    await app.jobs(queue="other", limit=200)
