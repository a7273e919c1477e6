"""Notifications of workers: sent after the commit, each once, and never the reason for an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from kairos import Context, Done, Kairos, SyncKairos, operations, step
from kairos.store.query import TO_WORKER, Operation, Query

BREAKS_ITS_CONNECTION = "select pg_terminate_backend(pg_backend_pid()), $1::text[]"


@asynccontextmanager
async def listening(database: str, *channels: str) -> AsyncIterator[asyncio.Queue[tuple[str, str]]]:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    connection = await asyncpg.connect(database)
    for channel in channels:
        await connection.add_listener(channel, lambda *said: heard.put_nowait((said[2], said[3])))
    try:
        yield heard
    finally:
        await connection.close()


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    app = Kairos(database)

    @app.job
    async def nothing() -> None: ...

    @app.machine("parent")
    class Parent:
        @step
        async def start(self, ctx: Context) -> Any:
            ctx.spawn(app.action("nothing").options(queue="children").call())
            return Done()

    @app.machine("careful_parent")
    class ParentInTransaction:
        @step
        async def start(self, ctx: Context) -> Any:
            async with ctx.transaction():
                ctx.spawn(app.action("nothing").options(queue="children").call())
            return Done()

    async with app:
        yield app


@pytest.mark.parametrize("machine", ["parent", "careful_parent"])
async def test_the_workers_of_a_child_s_queue_are_notified_by_the_commit_of_its_parent(
    app: Kairos, database: str, machine: str
) -> None:
    async with listening(database, "kairos") as heard, app.worker(queues=["default"], poll=60):
        parent = await app.action(machine).enqueue()
        await app.result(parent.id, timeout=30)
        async with asyncio.timeout(30):
            while (await heard.get())[1] != "children":
                pass


async def test_a_transaction_notifies_after_its_commit_and_not_at_all_if_it_is_rolled_back(
    app: Kairos, database: str
) -> None:
    nothing = app.action("nothing")

    def enqueue_twice(*queues: str, fail: bool = False) -> Operation[None]:
        for queue in queues:
            yield from operations.enqueue(nothing.options(queue=queue).call())
        if fail:
            raise RuntimeError("changed my mind")

    sent = watch(app)
    async with listening(database, "kairos") as heard:
        with pytest.raises(RuntimeError, match="changed my mind"):
            await app.transact(lambda: enqueue_twice("undone", fail=True))
        await app.transact(lambda: enqueue_twice("one", "two", "one"))
        async with asyncio.timeout(30):
            assert {await heard.get(), await heard.get()} == {("kairos", "one"), ("kairos", "two")}
    assert [(query.name, outside) for query, outside in sent if query.name == "notify_queues"] == [
        ("notify_queues", True)
    ]


async def test_many_enqueues_at_once_are_notified_in_few_statements(app: Kairos) -> None:
    sent = watch(app)
    nothing = app.action("nothing")
    await asyncio.gather(*(nothing.enqueue() for _ in range(200)))
    await app.store.outbox.close(30)
    assert 0 < sum(query.name == "notify_queues" for query, _ in sent) < 100


async def test_a_call_whose_unique_key_is_taken_sends_no_notification(app: Kairos) -> None:
    call = app.action("nothing").options(unique="u", if_taken="return").call()
    await app.enqueue(call)
    await app.store.outbox.close(30)
    sent = watch(app)
    assert not (await app.enqueue(call)).is_new
    await app.store.outbox.close(30)
    assert "notify_queues" not in [query.name for query, _ in sent]


async def test_a_request_to_drain_notifies_its_worker_alone(app: Kairos, database: str) -> None:
    async with listening(database, "kairos") as heard, app.worker(poll=60) as worker:
        async with asyncio.timeout(30):
            while not await app.workers():  # its row is written by its first heartbeat
                await asyncio.sleep(0.01)
            await app.run(operations.drain(worker.name))
            while (await heard.get())[1] != f"{TO_WORKER}{worker.name}":
                pass
            await worker.left.wait()


def watch(app: Kairos) -> list[tuple[Query, bool]]:
    """Every statement that the app sends from now on, and whether it was outside of a transaction."""
    sent: list[tuple[Query, bool]] = []
    real = app.store.on

    async def on(connection: Any, query: Query) -> Any:
        sent.append((query, not connection.is_in_transaction()))
        return await real(connection, query)

    app.store.on = on  # type: ignore[method-assign]
    return sent


def test_a_notification_that_is_lost_does_not_fail_the_enqueue(database: str) -> None:
    with SyncKairos(database) as app:

        @app.job
        def nothing() -> None: ...

        app.store.sql = {**app.store.sql, "notify_queues": BREAKS_ITS_CONNECTION}
        job = nothing.enqueue()
        assert app.get(job.id).state == "pending"
