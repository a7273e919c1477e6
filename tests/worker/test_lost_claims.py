"""Claims that a worker has and does not know of: the answer to a pick or to a commit was lost.

Until such a claim is released, nobody runs the job: with the leases here that would be an hour.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from tests.worker.world import ended, verbs, working

from kairos import Context, Done, Next, step
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query

HOUR = timedelta(hours=1)


@pytest.fixture
def replaced(monkeypatch) -> Any:
    """Replace how every statement is run by a function that is given how it was run before."""

    def replace(function: Any) -> None:
        run = AsyncStore.on

        async def on(store: AsyncStore, connection: Any, query: Query) -> Any:
            return await function(run, store, connection, query)

        monkeypatch.setattr(AsyncStore, "on", on)

    return replace


async def test_a_claim_that_is_lost_while_the_worker_looks_for_lost_claims_is_released_too(app, replaced):
    """The picker and the flusher lose their connections at the same moment, so one's doubt meets the other's look."""

    @app.job
    async def work() -> str:
        return "done"

    async with working(app, lease=HOUR) as worker:
        lost: list[int] = []

        async def lose_a_pick_during_the_look(run: Any, store: Any, connection: Any, query: Query) -> Any:
            rows = await run(store, connection, query)
            if query.name == "release_unstarted" and not lost:
                pick = Query(
                    "pick_jobs", ("default", 1, worker.name, HOUR, False, [job.action], [job.version])
                )
                lost.extend(row["id"] for row in await run(store, connection, pick))
                worker.picker.doubt_claims()
            return rows

        worker.picker.stopped = True
        job = await work.enqueue()
        replaced(lose_a_pick_during_the_look)
        worker.picker.doubt_claims()
        worker.picker.stopped = False
        worker.picker.wake()
        assert (await ended(app, job.id)).output == "done"
        assert lost == [job.id]
        assert await verbs(app, job.id) == ["release", "done"]


async def test_a_claim_that_postgres_makes_after_its_connection_was_lost_is_released_too(app, replaced):
    """Postgres goes on with a statement whose client is gone, behind a proxy until it wants to answer."""

    @app.job
    async def work() -> str:
        return "done"

    claiming: list[tuple[asyncpg.Connection, Any]] = []
    looked: list[int] = []

    async def cut(run: Any, store: AsyncStore, connection: Any, query: Query) -> Any:
        if query.name == "pick_jobs" and not claiming:
            other = await store.connections.connect(None)
            transaction = other.transaction()
            await transaction.start()
            if await run(store, other, query):
                claiming.append((other, transaction))
                raise ConnectionResetError("cut before the claim is committed")
            await transaction.rollback()
            await other.close()
        rows = await run(store, connection, query)
        if query.name == "release_unstarted":
            looked.append(len(rows))
            if len(looked) == 1:
                other, transaction = claiming[0]
                await transaction.commit()
                await other.close()
        return rows

    replaced(cut)
    async with working(app, lease=HOUR):
        job = await work.enqueue()
        assert (await ended(app, job.id)).output == "done"
        assert await verbs(app, job.id) == ["release", "done"]
    assert looked[0] == 0


async def test_a_run_ahead_whose_answer_was_lost_goes_on_without_waiting_for_the_next_poll(app, replaced):
    @app.machine("two")
    class Two:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context) -> Any:
            return Next("second")

        @step(to=[])
        async def second(self, ctx: Context) -> Any:
            return Done("done")

    cut: list[str] = []

    async def lose_the_answer(run: Any, store: AsyncStore, connection: Any, query: Query) -> Any:
        rows = await run(store, connection, query)
        if query.name == "settle_jobs" and not cut:
            cut.append(query.name)
            raise ConnectionResetError("cut after the commit")
        return rows

    replaced(lose_the_answer)
    async with working(app, lease=HOUR, poll=3600.0):
        job = await Two.enqueue()
        assert (await ended(app, job.id)).output == "done"
        assert await verbs(app, job.id) == ["next", "release", "done"]
    assert cut
