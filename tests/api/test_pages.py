"""Lists come in pages: each goes on after the last of the page before, and none is lost or told twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from tests.shared_database import database, kept_database, quiet, unguarded

from kairos import Await, Context, Kairos, step
from kairos.api.schemas.jobs import HistoryAnswer
from kairos.api.schemas.machines import MachineList
from kairos.api.schemas.queues import QueueList
from kairos.api.schemas.signals import SignalList
from kairos.api.schemas.webhooks import WebhookList
from kairos.api.schemas.workers import WorkerList
from kairos.operations.webhooks import add_webhook
from kairos.testing import drain

__all__ = ["database", "kept_database", "quiet"]

# Names that a list must not mind: of another case, with what a URL would take for its own, and beyond ASCII.
NAMES = ["Z&a=1", "a b", "a%2Fb", "b+c", "q", "öl", "日本"]
Fill = Callable[[Kairos], Awaitable[str]]


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.machine("waiter")
    class Waiter:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("go")

    return app


async def queues(app: Kairos) -> str:
    for name in NAMES[1:]:
        await app.action("waiter").options(queue=name).enqueue()
    await app.pause(NAMES[0])  # a queue may have settings and nothing else
    return "/api/queues"


async def workers(app: Kairos) -> str:
    insert = (
        "insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)"
        " select name, 'h', 1, '{}', '{}', 1, now(), now() from unnest($1::text[]) as u (name)"
    )
    async with app.store.connection() as connection:
        await connection.execute(insert, NAMES)
    return "/api/workers"


async def machines(app: Kairos) -> str:
    for version in (1, 2):
        for name in NAMES:

            @app.job(name=name, version=version)
            async def act() -> None: ...

    return "/api/machines"


async def webhooks(app: Kairos) -> str:
    for name in range(7):
        await app.run(add_webhook(f"https://example.com/{name}"))
    return "/api/webhooks"


async def history(app: Kairos) -> str:
    job = await app.action("waiter").enqueue()
    for _ in range(4):
        await drain(app)
        await app.signal(job.id, "go")
    return f"/api/jobs/{job.id}/history"


async def signals(app: Kairos) -> str:
    job = await app.action("waiter").enqueue()
    for number in range(7):
        await app.signal(job.id, "note", number)
    return f"/api/jobs/{job.id}/signals"


LISTS = {
    "queues": (queues, "name", QueueList),
    "workers": (workers, "id", WorkerList),
    "machines": (machines, "name", MachineList),
    "webhooks": (webhooks, "id", WebhookList),
    "history": (history, "id", HistoryAnswer),
    "signals": (signals, "id", SignalList),
}


@pytest.mark.parametrize("noun", LISTS)
async def test_pages_of_any_length_are_together_the_whole_list_once(
    http: httpx2.AsyncClient, app: Kairos, noun: str
) -> None:
    fill, place, schema = LISTS[noun]
    path = await fill(app)
    whole = (await http.get(path)).json()
    schema.model_validate(whole)
    assert (len(whole[noun]) >= 7, whole["nextCursor"]) == (True, None)
    names = [each[place] for each in whole[noun]]
    assert len(set(names)) == len(names)
    for limit in (1, 3, len(names) - 1, len(names), len(names) + 1):
        pages, cursor = [], None
        while cursor is not None or not pages:
            asked = {"limit": limit, **({"cursor": cursor} if cursor is not None else {})}
            page = (await http.get(path, params=asked)).json()
            schema.model_validate(page)
            pages.append([each[place] for each in page[noun]])
            assert len(pages) <= len(names), "it never ends"
            cursor = page["nextCursor"]
        assert [name for page in pages for name in page] == names
        # All full but the last, which has something too: nobody asks for a page with nothing on it.
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        assert 0 < len(pages[-1]) <= limit


@pytest.mark.parametrize("noun", LISTS)
async def test_what_comes_and_goes_between_two_pages_moves_nothing(
    http: httpx2.AsyncClient, app: Kairos, noun: str
) -> None:
    """By keys, not by counting: a row before the cursor that vanished takes none behind it with it."""
    fill, place, _ = LISTS[noun]
    path = await fill(app)
    names = [each[place] for each in (await http.get(path)).json()[noun]]
    first = (await http.get(path, params={"limit": 3})).json()
    async with app.store.connection() as connection:
        if noun == "queues":
            await connection.execute(unguarded(f"delete from kairos.gen_durable where queue = '{names[1]}'"))
        else:
            await connection.execute(unguarded(f"delete from kairos.{noun} where {place} = '{names[1]}'"))
    rest = (await http.get(path, params={"cursor": first["nextCursor"]})).json()
    assert [each[place] for each in rest[noun]] == names[3:]


@pytest.mark.parametrize("noun", LISTS)
async def test_a_cursor_or_a_limit_that_is_none_is_refused(
    http: httpx2.AsyncClient, app: Kairos, noun: str
) -> None:
    path = await LISTS[noun][0](app)
    by_name = noun in ("queues", "workers", "machines")
    wrong = ["", "\x00", "\x1f", "x" * 256] if by_name else ["", "-1", "x", "1.5", "9" * 30, "1;drop"]
    for field, values in (("cursor", wrong), ("limit", ["0", "1001", "-1", "x"])):
        for value in values:
            refused = await http.get(path, params={field: value})
            assert refused.status_code == 422, (field, value)
            assert refused.json()["error"]["details"]["field"] == field
    last = "\U0010ffff" if by_name else str(2**63 - 1)
    beyond = (await http.get(path, params={"cursor": last})).json()
    assert (beyond[noun], beyond["nextCursor"]) == ([], None)


@pytest.mark.parametrize("noun", ["history", "signals"])
async def test_the_lists_of_a_job_that_is_not_there_are_not_there(
    http: httpx2.AsyncClient, noun: str
) -> None:
    for query in ("", "?cursor=5", "?limit=1"):
        answer = await http.get(f"/api/jobs/9/{noun}{query}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
