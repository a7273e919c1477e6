"""The client's lists are whole, however many pages they come in; and a job's own policy goes over the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.remote.conftest import Told

from kairos import Backoff, Kairos
from kairos.api.responses import answer
from kairos.errors import BadRequest
from kairos.shapes.job_filters import FILTERS, Filter

pytestmark = pytest.mark.usefixtures("served")

PAST, FUTURE = datetime(2001, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
MANY = 1201  # more than two pages
ROWS = {
    "workers": "insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)"
    " select 'w' || n, 'h', 1, '{}', '{}', 1, now(), now() from generate_series(1, $1::int) n",
    "queues": "insert into kairos.queues (name) select 'q' || n from generate_series(1, $1::int) n",
    "history": "insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, at)"
    " select max(j.id), 'reap', 'running', 'pending', 'run', 0, now()"
    " from kairos.gen_durable j, generate_series(1, $1::int) n group by n",
    "signals": "insert into kairos.signals (target_id, name, inserted_at)"
    " select max(j.id), 'note', now() from kairos.gen_durable j, generate_series(1, $1::int) n group by n",
}


@pytest.mark.parametrize("noun", ROWS)
async def test_a_list_of_many_pages_is_answered_whole(kairos: Told, app: Kairos, noun: str) -> None:
    job = await app.action("double").enqueue(number=1)
    async with app.store.connection() as connection:
        await connection.execute(ROWS[noun], MANY)
    about = (job.id,) if noun in ("history", "signals") else ()
    found = await kairos.ask(lambda kairos: getattr(kairos, noun)(*about))
    names = [getattr(each, "id", None) or each.name for each in found]
    assert len(set(names)) == len(names) == MANY + (noun == "queues")


async def test_a_list_of_a_service_that_knows_no_pages_is_whole(
    kairos: Told, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(request: Any, document: dict[str, Any]) -> Any:
        return answer(request, {name: each for name, each in document.items() if name != "nextCursor"})

    await app.pause("q")
    monkeypatch.setattr("kairos.api.routes.queues.answer", older)
    monkeypatch.setattr("kairos.api.routes.jobs.answer", older)
    assert [queue.name for queue in await kairos.ask(lambda kairos: kairos.queues())] == ["q"]
    assert await kairos.all(lambda kairos: kairos.jobs()) == []


VALUES = {
    "state": "scheduled", "action": "double", "queue": "mail", "key": "k", "tag": "red", "schedule": "nightly",
    "text": "DOUB", "inserted_from": PAST, "inserted_to": FUTURE,
    "parent": 1, "input": ["number:1"], "error": "0123456789abcdef", "retry_of": 1,
    "error_text": "fire printer",
}  # fmt: skip


@pytest.mark.parametrize("by", FILTERS, ids=lambda each: each.name)
async def test_a_filter_finds_over_http_what_it_finds_at_home(kairos: Told, app: Kairos, by: Filter) -> None:
    job = (
        await app.action("double").options(queue="mail", key="k", tags=["red"], delay="1h").enqueue(number=1)
    )
    await app.action("fails").enqueue()
    async with app.store.connection() as connection:
        await connection.execute(
            """update kairos.gen_durable set schedule = 'nightly', reply_to = 1, reply_name = 'ended',
               retry_of = 1, error_group = '0123456789abcdef', last_error = 'the printer is on fire' where id = $1""",
            job.id,
        )
        if by.attribute == "error_text":  # the guard refuses a job that fails before it ran
            await connection.execute("set session_replication_role = replica")
            await connection.execute(
                """update kairos.gen_durable set status = 'failed', lease = 1, started_at = now(), picked_at = now(),
                   completed_at = now() where id = $1""",
                job.id,
            )
            await connection.execute("reset session_replication_role")
    given = {by.attribute: VALUES[by.attribute]}
    found = [each.id for each in await app.jobs(**given)]
    assert job.id in found
    assert [each.id for each in await kairos.all(lambda kairos: kairos.jobs(**given))] == found
    assert len(found) == (2 if by.kind is datetime else 1)


async def test_a_misspelled_filter_is_refused(kairos: Told, app: Kairos) -> None:
    for ask in (app.jobs, lambda **given: kairos.all(lambda kairos: kairos.jobs(**given))):
        with pytest.raises(BadRequest, match="no filter 'quue'"):
            await ask(quue="mail")


async def test_a_job_carries_its_own_policy(kairos: Told, app: Kairos) -> None:
    policy = Backoff(attempts=2, base="90s", cap="1h")
    stored = Backoff(attempts=2, base=90, cap=3600)
    one = await kairos.ask(lambda kairos: kairos.options(retry=policy).enqueue("double", number=1))
    calls = [
        kairos.client.options(retry=policy).call("double", number=2),
        kairos.client.call("double", number=3),
    ]
    many = await kairos.ask(lambda kairos: kairos.enqueue_many(calls))
    assert [job.retry for job in (one, *many)] == [stored, stored, None]
    assert [(await app.get(job.id)).retry for job in (one, *many)] == [stored, stored, None]
    await app.cancel(one.id)
    assert (await kairos.ask(lambda kairos: kairos.retry(one.id))).retry == stored
