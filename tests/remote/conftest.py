"""A service with a worker on a real port, and its client in both worlds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from tests.api.service_process import Served, served
from tests.shared_database import database, kept_database, quiet

from kairos import Await, Context, Done, Kairos, KairosClient, step

__all__ = ["database", "kept_database", "quiet", "served"]


class Told:
    """A client, asked alike whether it blocks or is awaited."""

    def __init__(self, client: KairosClient, *, blocks: bool) -> None:
        self.client = client
        self.blocks = blocks

    async def ask(self, question: Callable[[KairosClient], Any]) -> Any:
        if self.blocks:
            return await asyncio.to_thread(question, self.client)
        return await question(self.client)

    async def all(self, question: Callable[[KairosClient], Any]) -> list[Any]:
        if self.blocks:
            return await asyncio.to_thread(lambda: list(question(self.client)))
        return [item async for item in question(self.client)]


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    app = Kairos(database)

    @app.job(redact=["secret"])
    async def double(ctx: Context, number: int, secret: str = "") -> int:
        ctx.log.info("doubling", number=number)
        return number * 2

    @app.job
    async def fails(why: str = "no") -> None:
        raise ValueError(why)

    @app.machine("order")
    class Order:
        @step
        async def pay(self, ctx: Context) -> Any:
            if (paid := ctx.take("paid")) is None:
                return Await("paid")
            return Done(paid.payload)

    async with app:
        yield app


@pytest.fixture
async def worker(app: Kairos) -> AsyncIterator[None]:
    async with app.worker(poll=0.1):
        yield


@asynccontextmanager
async def told(blocks: bool, url: str, key: str | None = None, **settings: Any) -> AsyncIterator[Told]:
    client = KairosClient(url, key, **settings)
    async with AsyncExitStack() as entered:
        if blocks:
            entered.enter_context(client)
        else:
            await entered.enter_async_context(client)
        yield Told(client, blocks=blocks)


@pytest.fixture(params=["with", "async with"])
def blocks(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "with")


@pytest.fixture
async def kairos(served: Served, blocks: bool) -> AsyncIterator[Told]:
    async with told(blocks, served.url) as client:
        yield client
