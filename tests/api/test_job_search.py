"""Finding jobs by arguments, parents and errors; counts by state; groups of errors; how jobs ended."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from tests.engine_statements import Rig
from tests.shared_database import database, kept_database, quiet

from kairos import Await, Backoff, Context, Done, Kairos, Next, operations, step
from kairos.api.schemas import error_groups, jobs, stats
from kairos.errors import BadDefinition
from kairos.operations import find_jobs
from kairos.testing import drain
from kairos.worker.error_groups import fingerprint

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job(search=["email", "items.sku", "n"], redact=["card"])
    async def order(
        email: str, items: list[dict[str, str]] | None = None, n: int = 0, card: dict[str, str] | None = None
    ) -> str:
        return email

    @app.job
    async def plain(email: str = "", nested: dict[str, Any] | None = None) -> None: ...

    @app.job(redact=["secret"])
    async def hides(secret: str) -> None: ...

    @app.job
    async def breaks(how: str) -> None:
        if how == "value":
            raise ValueError("the printer is on fire")
        _deeper(how)

    return app


def _deeper(how: str) -> None:
    raise KeyError(how)


async def ids(http: httpx2.AsyncClient, **query: Any) -> list[int]:
    answer = await http.get("/api/jobs", params=query)
    assert answer.status_code == 200, answer.text
    jobs.JobList.model_validate(answer.json())
    return [job["id"] for job in answer.json()["jobs"]]


async def test_a_declared_argument_finds_its_jobs_by_index(http: httpx2.AsyncClient, app: Kairos) -> None:
    await app.run(operations.register(app.registry))
    order = app.action("order")
    ann = await order.enqueue(email="a@example.com", items=[{"sku": "x1"}, {"sku": "y2"}], n=7)
    bob = await order.enqueue(email="b@example.com", items=[{"sku": "y2"}], n=7)
    await drain(app)
    assert await ids(http, input="email:a@example.com") == [ann.id]
    assert await ids(http, input="items.sku:y2") == [bob.id, ann.id]
    assert await ids(http, input=["n:7", "email:b@example.com"]) == [bob.id]
    assert await ids(http, input="email:a@example.com", state="success") == [ann.id]
    assert await ids(http, input="email:a@example.com", state="failed") == []
    assert await ids(http, input="email:nobody", action="order") == []
    found = (await http.get("/api/jobs", params={"input": "email:nobody"})).json()
    assert (found["searchedTo"], found["nextCursor"]) == (None, None)


async def test_a_value_finds_the_jobs_that_have_it_as_any_argument(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.run(operations.register(app.registry))
    order = app.action("order")
    ann = await order.enqueue(email="a@example.com", items=[{"sku": "x1"}])
    bob = await order.enqueue(email="b@example.com", items=[{"sku": "a@example.com"}])
    await order.enqueue(email="a@example.co", card={"number": "4111"})
    monkeypatch.setattr(find_jobs, "MAX_SCANNED", 1)  # what is found is found in the index
    assert await ids(http, input="*:a@example.com") == [bob.id, ann.id]
    assert await ids(http, input=["*:a@example.com", "email:a@example.com"]) == [ann.id]
    assert await ids(http, input=["*:a@example.com", "*:x1"]) == [ann.id]
    assert await ids(http, input="*:4111") == []  # redacted
    counts = (await http.get("/api/jobs/counts", params={"input": "*:a@example.com"})).json()
    assert (counts["counts"]["pending"], counts["capped"]) == (2, False)


async def test_a_value_is_looked_for_among_the_newest_where_no_argument_is_searchable(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    deep = await app.action("plain").enqueue(nested={"cards": [{"brand": "visa"}]})
    await app.action("plain").enqueue(email="visa card")
    await app.action("hides").enqueue(secret="visa")
    assert await ids(http, input="*:visa") == [deep.id]


async def test_failed_jobs_are_found_by_the_words_of_their_error_however_old_they_are(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kairos.operations.find_jobs.MAX_SCANNED", 2)
    first = await app.action("breaks").enqueue("the card of a@example.com has expired")
    second = await app.action("breaks").enqueue("the card is stolen")
    await drain(app)
    for _ in range(5):
        await app.action("plain").enqueue()
    await drain(app)
    assert await ids(http, errorText="card EXPIRED") == [first.id]
    assert await ids(http, errorText="a@example.com", state="failed") == [first.id]
    assert await ids(http, errorText="card") == [second.id, first.id]
    assert await ids(http, errorText="card", state="success") == []
    assert await ids(http, errorText="card", action="plain") == []
    assert await ids(http, errorText="car") == []  # whole words
    assert await ids(http, errorText="::") == []
    counted = (await http.get("/api/jobs/counts", params={"errorText": "card"})).json()
    assert (counted["counts"]["failed"], counted["capped"]) == (2, False)


async def test_the_newest_failures_are_searched_where_too_many_have_the_words(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kairos.operations.find_jobs.MAX_GATHERED", 2)
    jobs = [await app.action("breaks").enqueue("the card is stolen") for _ in range(4)]
    await drain(app)
    assert await ids(http, errorText="stolen") == [job.id for job in reversed(jobs)]


async def test_the_retries_of_a_job_are_listed(http: httpx2.AsyncClient, app: Kairos) -> None:
    first = await app.action("plain").enqueue()
    await app.action("plain").enqueue()
    await drain(app)
    again = [(await app.retry(first.id)).id for _ in range(2)]
    assert await ids(http, retryOf=first.id) == again[::-1]
    assert await ids(http, retryOf=first.id, state="success") == []
    assert await ids(http, retryOf=again[0]) == []
    counts = (await http.get("/api/jobs/counts", params={"retryOf": first.id})).json()["counts"]
    assert (counts["pending"], counts["success"]) == (2, 0)
    assert (await http.get("/api/jobs", params={"retryOf": 0})).status_code == 422


async def test_a_job_that_a_service_enqueues_without_its_code_is_found_too(app: Kairos) -> None:
    await app.run(operations.register(app.registry))
    other = Kairos(app.store.url)
    async with other:
        call = (
            await other.run(
                operations.calls(other.registry, [operations.NamedCall("order", {"email": "c@example.com"})])
            )
        )[0]
        job = await other.run(operations.enqueue(call))
        assert [each.id for each in await other.jobs(input="email:c@example.com")] == [job.id]


async def test_a_retry_and_the_job_of_a_schedule_are_found_by_their_arguments(app: Kairos) -> None:
    await app.run(operations.register(app.registry))
    order = app.action("order")
    first = await order.enqueue(email="d@example.com")
    await drain(app)
    again = await app.retry(first.id)
    await app.schedules.add("nightly", "every day at 3am", order.call(email="d@example.com"))
    fired = await app.schedules.trigger("nightly")
    found = [job.id for job in await app.jobs(input="email:d@example.com")]
    assert found == [fired, again.id, first.id]


async def test_an_argument_that_is_not_declared_is_searched_for_among_the_newest(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = app.action("plain")
    old = await plain.enqueue(nested={"brand": "visa"})
    for _ in range(3):
        await plain.enqueue(nested={"brand": "other"})
    assert await ids(http, input="nested.brand:visa") == [old.id]
    monkeypatch.setattr(find_jobs, "MAX_SCANNED", 2)
    answer = (await http.get("/api/jobs", params={"input": "nested.brand:visa", "limit": 1})).json()
    assert answer["jobs"] == []
    assert answer["searchedTo"] is not None and answer["nextCursor"] is not None


async def test_a_search_in_large_inputs_ends_after_so_many_bytes_and_its_cursor_goes_on(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    plain = app.action("plain")
    old = await plain.enqueue(email="a@example.com")
    await app.enqueue_many([plain.call(nested={"text": "x" * 900_000}) for _ in range(15)])
    for search in ("email:a@example.com", "*:a@example.com"):
        first = (await http.get("/api/jobs", params={"input": search})).json()
        assert first["jobs"] == [] and first["searchedTo"] is not None
        assert await ids(http, input=search, cursor=first["nextCursor"]) == [old.id]
    assert [job.id for job in await app.jobs(input="email:a@example.com")] == [old.id]
    counts = (await http.get("/api/jobs/counts", params={"input": "email:a@example.com"})).json()
    assert counts["capped"]


@pytest.mark.parametrize(
    ("given", "text"),
    [(-1.5, "-1.5"), (7, "7"), (True, "true"), ('a "quoted" \\ word', 'a "quoted" \\ word'), ("é", "é")],
)
async def test_a_value_is_found_whatever_it_is_stored_as(app: Kairos, given: Any, text: str) -> None:
    job = await app.action("plain").enqueue(nested={"value": given})
    await app.action("plain").enqueue(nested={"value": f"{text}."})
    for path in ("nested.value", "*"):
        assert [each.id for each in await app.jobs(input=f"{path}:{text}")] == [job.id]


async def test_a_redacted_argument_cannot_be_guessed_by_searching(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    await app.action("hides").enqueue(secret="s3")
    await app.action("order").enqueue(email="e", card={"number": "4111"})
    assert await ids(http, input="secret:s3") == []
    assert await ids(http, input="card.number:4111") == []
    counts = (await http.get("/api/jobs/counts", params={"input": "secret:s3"})).json()["counts"]
    assert set(counts.values()) == {0}


@pytest.mark.parametrize(
    ("search", "why"),
    [
        ("email", "give a list"),
        (["nope"], "no argument 'nope'"),
        (["email:x"], "such as card.brand"),
        (["email."], "such as card.brand"),
        (["card.number"], "redacted"),
    ],
)
def test_a_search_that_could_never_find_anything_is_refused_when_it_is_declared(
    app: Kairos, search: Any, why: str
) -> None:
    with pytest.raises(BadDefinition, match=why):

        @app.job(name="wrong", search=search, redact=["card"])
        async def wrong(email: str, card: dict[str, str]) -> None: ...


@pytest.mark.parametrize("given", ["email", ":a", "a..b:c", "email:" + "x" * 300])
async def test_an_argument_without_a_value_is_refused(http: httpx2.AsyncClient, given: str) -> None:
    answer = await http.get("/api/jobs", params={"input": given})
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("due", [True, False])
async def test_few_jobs_that_wait_for_a_worker_are_found_among_many_that_wait_for_their_time(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch, due: bool
) -> None:
    plain = app.action("plain")
    few = {} if due else {"delay": 3600}
    many = {"delay": 3600} if due else {}
    wanted = [(await plain.options(tags=["red"], **few).enqueue()).id for _ in range(3)]
    await app.enqueue_many(plain.options(**many).call() for _ in range(20))
    state = "pending" if due else "scheduled"
    for gathered, kept in ((5000, 50_000), (1, 50_000)):
        monkeypatch.setattr(find_jobs, "MAX_SCANNED", 2)
        monkeypatch.setattr(find_jobs, "MAX_GATHERED", gathered)
        monkeypatch.setattr(find_jobs, "MAX_SORTED", kept)
        for query in ({}, {"queue": "default"}):
            first = (await http.get("/api/jobs", params={"state": state, "limit": 2, **query})).json()
            assert [job["id"] for job in first["jobs"]] == wanted[:0:-1]
            rest = await ids(http, state=state, limit=2, cursor=first["nextCursor"], **query)
            assert rest == wanted[:1]
        monkeypatch.undo()
    assert await ids(http, state=state, tag="red") == wanted[::-1]
    assert await ids(http, state=[state, "failed"], limit=2) == wanted[:0:-1]


async def test_children_are_listed_by_their_parent(http: httpx2.AsyncClient, app: Kairos) -> None:
    @app.machine("family")
    class Family:
        @step(initial=True)
        async def begin(self, ctx: Context) -> Any:
            if ctx.take("ended"):
                return Done()
            ctx.spawn(*(app.action("plain").call() for _ in range(3)), reply="ended")
            return Await("ended")

    parent = await app.action("family").enqueue()
    await drain(app)
    children = await ids(http, parent=parent.id)
    assert len(children) == 3
    assert await ids(http, parent=parent.id, state="success") == children
    assert await ids(http, parent=parent.id, state="failed") == []
    child = (await http.get(f"/api/jobs/{children[0]}")).json()["job"]
    assert (child["parent"], child["replyTo"]) == (parent.id, parent.id)
    counts = (await http.get("/api/jobs/counts", params={"parent": parent.id})).json()["counts"]
    assert counts["success"] == 3
    assert (await http.get("/api/jobs", params={"parent": 0})).status_code == 422


async def test_counts_obey_every_filter_and_name_every_state(http: httpx2.AsyncClient, app: Kairos) -> None:
    mail = app.action("plain").options(queue="mail", tags=["red"], key="k")
    await mail.enqueue()
    await mail.options(delay=3600).enqueue()
    await app.action("breaks").enqueue("value")
    await drain(app)
    await app.action("plain").enqueue(email="new")
    asked: list[tuple[dict[str, Any], dict[str, int]]] = [
        ({}, {"scheduled": 1, "pending": 1, "success": 1, "failed": 1}),
        ({"queue": "mail"}, {"scheduled": 1, "success": 1}),
        ({"action": "plain"}, {"scheduled": 1, "pending": 1, "success": 1}),
        ({"action": "plain", "queue": "mail"}, {"scheduled": 1, "success": 1}),
        ({"key": "k"}, {"scheduled": 1, "success": 1}),
        ({"tag": "red"}, {"scheduled": 1, "success": 1}),
        ({"text": "printer"}, {"failed": 1}),
        ({"input": "email:new"}, {"pending": 1}),
        ({"tag": "red", "queue": "mail"}, {"scheduled": 1, "success": 1}),
        ({"from": "2001-01-01T00:00:00Z"}, {"scheduled": 1, "pending": 1, "success": 1, "failed": 1}),
        ({"to": "2001-01-01T00:00:00Z"}, {}),
        ({"schedule": "none"}, {}),
        ({"error": "none"}, {}),
    ]
    for query, expected in asked:
        answer = await http.get("/api/jobs/counts", params=query)
        jobs.CountsAnswer.model_validate(answer.json())
        document = answer.json()
        assert {state: n for state, n in document["counts"].items() if n} == expected, query
        assert (len(document["counts"]), document["capped"]) == (8, False)
    assert (
        await http.get("/api/jobs/counts", params={"state": "failed"})
    ).status_code == 422  # it counts by state


async def test_counts_stop_at_a_limit_and_say_so(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_jobs, "MOST_COUNTED", 3)
    for options in ({}, {"delay": 3600}, {"key": "k"}):
        calls = [app.action("plain").options(**options).call() for _ in range(5)]
        await app.enqueue_many(calls)
    for query in ({}, {"queue": "default"}, {"action": "plain"}, {"key": "k"}):
        document = (await http.get("/api/jobs/counts", params=query)).json()
        assert document["capped"], query
        assert max(document["counts"].values()) == 3


async def test_a_backlog_is_counted_apart_from_what_is_for_later(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = app.action("plain")
    await app.enqueue_many(plain.call() for _ in range(7))
    await app.enqueue_many(plain.options(delay=3600).call() for _ in range(3))
    asked = {"action": "plain"}
    for gathered, expected in ((5000, (7, 3, False)), (4, (7, 3, False)), (9, (7, 3, False))):
        monkeypatch.setattr(find_jobs, "MAX_GATHERED", gathered)
        found = (await http.get("/api/jobs/counts", params=asked)).json()
        counts = found["counts"]
        assert (counts["pending"], counts["scheduled"], found["capped"]) == expected
    monkeypatch.setattr(find_jobs, "MAX_GATHERED", 2)
    assert (await http.get("/api/jobs/counts", params=asked)).json()["capped"]


async def test_failures_are_grouped_by_action_exception_and_own_frame(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    breaks = app.action("breaks")
    for how in ("value", "one", "value", "two"):
        await breaks.options(queue="mail" if how == "two" else "default").enqueue(how)
    await app.action("plain").enqueue()
    await drain(app)
    answer = await http.get("/api/errors")
    error_groups.ErrorGroupList.model_validate(answer.json())
    keys, values = answer.json()["errors"]
    assert (keys["exception"], keys["count"], values["exception"], values["count"]) == (
        "KeyError", 2, "ValueError", 2,
    )  # fmt: skip
    assert keys["frame"].startswith("api/test_job_search.py:") and keys["frame"].endswith(" in _deeper")
    assert values["message"] == "ValueError: the printer is on fire"
    assert (len(keys["series"]), sum(keys["series"])) == (24, 2)
    assert sum(keys["series"][-2:]) == 2  # the present hour is the last; a new one may just have begun
    assert keys["firstAt"] <= keys["lastAt"]
    listed = await ids(http, error=keys["fingerprint"])
    assert listed == [keys["lastJobId"], keys["lastJobId"] - 2]
    assert await ids(http, error=keys["fingerprint"], state="failed") == listed
    assert await ids(http, error=keys["fingerprint"], state="success") == []
    shown = (await http.get(f"/api/jobs/{listed[0]}")).json()["job"]
    assert shown["error"]["fingerprint"] == keys["fingerprint"]
    counted = (await http.get("/api/jobs/counts", params={"error": keys["fingerprint"]})).json()["counts"]
    assert counted["failed"] == 2
    by = [
        ({"queue": "mail"}, ["KeyError"]),
        ({"action": "breaks"}, ["KeyError", "ValueError"]),
        ({"action": "plain"}, []),
        ({"since": "2100-01-01T00:00:00Z"}, []),
    ]
    for query, expected in by:
        found = (await http.get("/api/errors", params=query)).json()["errors"]
        assert [each["exception"] for each in found] == expected
    first = (await http.get("/api/errors", params={"limit": 1})).json()
    rest = (await http.get("/api/errors", params={"limit": 1, "cursor": first["nextCursor"]})).json()
    assert [each["exception"] for each in (*first["errors"], *rest["errors"])] == ["KeyError", "ValueError"]
    assert rest["nextCursor"] is None


async def test_a_job_whose_worker_was_lost_too_often_is_in_a_group(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    rig = Rig(app.store)
    job = await rig.enqueue(max_reaps=0)
    await rig.worker().pick()
    async with app.store.connection() as connection:
        await connection.execute("update kairos.gen_durable set lease_expires_at = now() - interval '1 s'")
    await rig.sweep()
    (group,) = (await http.get("/api/errors")).json()["errors"]
    assert (group["exception"], group["lastJobId"], group["frame"]) == ("WORKER_LOST", job, None)
    assert group["fingerprint"] == fingerprint("act", "WORKER_LOST", "")


async def test_the_newest_ended_jobs_have_their_times(http: httpx2.AsyncClient, app: Kairos) -> None:
    plain, breaks = app.action("plain"), app.action("breaks")
    done = await plain.enqueue()
    failed = await breaks.options(retry=Backoff(attempts=1)).enqueue("value")
    await drain(app)
    await plain.enqueue()
    answer = await http.get("/api/stats/outcomes", params={"queue": "default"})
    stats.OutcomesAnswer.model_validate(answer.json())
    outcomes = answer.json()["outcomes"]
    assert [(each["id"], each["state"]) for each in outcomes] == [(failed.id, "failed"), (done.id, "success")]
    assert all(each["runMs"] > 0 and each["waitMs"] > 0 for each in outcomes)
    (only,) = (await http.get("/api/stats/outcomes", params={"action": "plain"})).json()["outcomes"]
    assert only["id"] == done.id
    for wrong in ({}, {"action": "a", "queue": "b"}, {"queue": "a", "limit": 101}):
        assert (await http.get("/api/stats/outcomes", params=wrong)).status_code == 422


async def test_the_series_of_a_schedule_is_counted_from_its_jobs(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    await app.run(operations.register(app.registry))
    await app.schedules.add("nightly", "every day at 3am", app.action("breaks").call("value"))
    for _ in range(2):
        await app.schedules.trigger("nightly")
    await app.action("plain").enqueue()
    await drain(app)
    series = (await http.get("/api/stats/series", params={"schedule": "nightly"})).json()["series"]
    assert (sum(slot["accepted"] for slot in series), sum(slot["failed"] for slot in series)) == (2, 2)
    ended = [slot for slot in series if slot["failed"]]
    assert all(slot["failureShare"] == 1.0 and slot["run"]["p50"] is not None for slot in ended)
    none = (await http.get("/api/stats/series", params={"schedule": "none"})).json()["series"]
    assert {slot["failureShare"] for slot in none} == {None}


async def test_a_machine_that_keeps_its_states_shows_what_each_step_made_of_it(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    @app.machine("kept", keep_states=True, redact=["card"])
    class Kept:
        @step(initial=True)
        async def first(self, ctx: Context) -> Any:
            return Next("second", state={**ctx.state, "n": 1})

        @step
        async def second(self, ctx: Context) -> Any:
            return Await("go", state={**ctx.state, "n": 2}) if not ctx.take("go") else Done(3)

    job = await app.action("kept").enqueue(card="4111")
    await drain(app)
    await app.signal(job.id, "go")
    await drain(app)
    plain = await app.action("plain").enqueue()
    await drain(app)
    history = (await http.get(f"/api/jobs/{job.id}/history")).json()["history"]
    jobs.HistoryAnswer.model_validate((await http.get(f"/api/jobs/{job.id}/history")).json())
    assert [(row["verb"], row["state"]) for row in history] == [
        ("next", {"card": "[redacted]", "n": 1}),
        ("await", {"card": "[redacted]", "n": 2}),
        ("wake", None),
        ("done", {"card": "[redacted]", "n": 2}),
    ]
    assert history[0]["dueAt"] is not None and history[0]["startedAt"] is not None
    (only,) = (await http.get(f"/api/jobs/{plain.id}/history")).json()["history"]
    assert only["state"] is None


async def test_a_job_tells_what_its_machine_knows_now_with_redacted_fields_hidden(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    @app.machine("knows", redact=["card"])
    class Knows:
        @step(initial=True)
        async def first(self, ctx: Context) -> Any:
            return Await("go", state={**ctx.state, "paid": True})

    job = await app.action("knows").enqueue(card="4111", total=5)
    await drain(app)
    read = (await http.get(f"/api/jobs/{job.id}")).json()["job"]
    assert read["machineState"] == {"card": "[redacted]", "total": 5, "paid": True}
    (listed,) = (await http.get("/api/jobs", params={"action": "knows"})).json()["jobs"]
    assert listed["machineState"] is None  # lists would be twice as large


async def test_counts_name_the_states_that_may_have_more(
    http: httpx2.AsyncClient, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await app.action("plain").enqueue()
    await app.action("breaks").enqueue("value")
    await drain(app)

    async def at_least(**filters: str) -> list[str]:
        answer = (await http.get("/api/jobs/counts", params=filters)).json()
        jobs.CountsAnswer.model_validate(answer)
        assert answer["capped"] == bool(answer["atLeast"])
        return answer["atLeast"]

    assert await at_least(queue="default") == []
    monkeypatch.setattr(find_jobs, "MOST_COUNTED", 2)
    assert await at_least(queue="default") == ["success"]
    monkeypatch.setattr(find_jobs, "MAX_SCANNED", 1)
    monkeypatch.setattr(find_jobs, "COUNTED_SAMPLE", 1)
    # The newest were examined, and any state may have older ones.
    assert len(await at_least(text="plain")) == 8


async def test_a_queue_that_ever_had_a_job_stays(http: httpx2.AsyncClient, app: Kairos) -> None:
    job = await app.action("plain").options(queue="once").enqueue()
    await drain(app)

    async def names() -> list[str]:
        return [queue["name"] for queue in (await http.get("/api/queues")).json()["queues"]]

    assert await names() == ["once"]
    await http.get("/api/stats")  # counts it
    await app.delete(job.id)
    assert await names() == ["once"]
    assert (await http.get("/api/queues/once")).status_code == 200
    assert (await http.get("/api/queues/never")).status_code == 404


async def test_a_queue_that_a_live_worker_serves_is_listed(http: httpx2.AsyncClient, app: Kairos) -> None:
    async with app.store.connection() as connection:
        await connection.execute(
            """insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)
               values ('w', 'h', 1, '{served}', '{}', 1, now(), now()),
                      ('gone', 'h', 1, '{left}', '{}', 1, now(), now() - interval '5 minutes')"""
        )
    assert [queue["name"] for queue in (await http.get("/api/queues")).json()["queues"]] == ["served"]
