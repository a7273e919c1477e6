"""What a verb and a batch cost, in statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.engine_statements import Hand, done

from kairos import Await, Context, Kairos, step
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.testing import drain

# A hint to workers, sent out of band and coalesced: never part of what a caller waits for.
NOTIFICATIONS = {"notify_queues"}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements sent since the list was last cleared."""
    names: list[str] = []
    real = AsyncStore.on

    async def counted(store: AsyncStore, connection: Any, query: Query) -> Any:
        if query.name not in NOTIFICATIONS:
            names.append(query.name)
        return await real(store, connection, query)

    monkeypatch.setattr(AsyncStore, "on", counted)
    return names


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    app = Kairos(database)

    @app.job
    async def nothing(number: int = 0) -> None: ...

    @app.machine("waiter")
    class Waiter:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("paid")

    async with app:
        yield app


async def test_each_verb_of_a_client_costs_what_it_should(app: Kairos, sent: list[str]) -> None:
    nothing = app.action("nothing")
    waiting = await app.action("waiter").enqueue()
    await drain(app)
    job = await nothing.options(delay=60, unique="u").enqueue()
    asked = {
        "plain enqueue": (lambda: nothing.enqueue(), ["insert_alike_jobs"]),
        "enqueue with everything": (
            lambda: nothing.options(key="k", unique="v", tags=["t"], ttl=5, priority=1).enqueue(),
            ["insert_jobs"],
        ),
        "a thousand at once": (
            lambda: app.enqueue_many(nothing.call(n) for n in range(1000)),
            ["insert_alike_jobs"],
        ),
        "none at all": (lambda: app.enqueue_many([]), []),
        "a taken key": (
            lambda: nothing.options(unique="u", if_taken="return").enqueue(),
            ["insert_jobs", "read_jobs"],
        ),
        "get": (lambda: app.get(job.id), ["read_jobs"]),
        "list": (lambda: app.jobs(limit=5), ["list_jobs"]),
        "list of the pending": (lambda: app.jobs(state="pending", limit=1), ["list_jobs"]),
        "signal to a busy job": (lambda: app.signal("u", "note"), ["deliver_signal"]),
        "signal that wakes": (lambda: app.signal(waiting.id, "paid"), ["deliver_signal", "read_jobs"]),
        "run now": (lambda: app.run_now(job.id), ["run_jobs_now", "read_jobs"]),
        "cancel": (lambda: app.cancel(job.id), ["cancel_jobs", "read_jobs"]),
    }
    for what, (ask, cost) in asked.items():
        sent.clear()
        await ask()
        assert sent == cost, what


@pytest.mark.parametrize(
    ("options", "picking", "committing"),
    [
        ({}, ["pick_jobs"], 1),
        (
            {"key": "k{}"},
            ["pick_jobs", "try_lock_keys", "pick_keyed"],
            3,
        ),  # and the keys are opened again, by two
    ],
    ids=["without keys", "each with its key"],
)
async def test_a_batch_of_a_hundred_costs_as_many_statements_as_one_job(
    app: Kairos, sent: list[str], options: dict[str, str], picking: list[str], committing: int
) -> None:
    nothing = app.action("nothing")
    calls = [
        nothing.options(**{name: value.format(n) for name, value in options.items()}).call(n)
        for n in range(100)
    ]
    await app.enqueue_many(calls)
    hand = Hand(app.store, "w", ["default"])
    await hand.picker.refresh()
    sent.clear()
    await hand.picker.pick("default", 100)
    assert (len(hand.claims), sent) == (100, picking)
    assert await hand.commit(*map(done, hand.claims)) == 100
    assert len(sent) == len(picking) + committing


async def test_a_worker_drains_many_jobs_with_far_fewer_statements(app: Kairos, sent: list[str]) -> None:
    jobs = await app.enqueue_many(app.action("nothing").call(n) for n in range(500))
    sent.clear()
    async with app.worker(concurrency=50):
        for job in jobs:
            await app.result(job.id, timeout=30)
    work = [name for name in sent if name != "read_jobs"]  # what we ask while we wait
    assert len(work) < 100, Counter(work)
