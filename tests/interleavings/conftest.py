from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest
from tests.captured_logs import capture_logs
from tests.engine_statements import Rig, rig
from tests.interleavings.explorer import Explorer, Outcome, explorer
from tests.interleavings.laws import hold
from tests.interleavings.stepping import Session
from tests.shared_database import database, kept_database, quiet, unguarded

__all__ = ["database", "kept_database", "quiet"]

FORGET = unguarded(
    "delete from kairos.signals; delete from kairos.logs; delete from kairos.history;"
    "delete from kairos.gen_durable where fsm <> 'filler'"
)


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[Rig]:
    async with rig(database) as made:
        yield made


@pytest.fixture
async def orders(database: str) -> AsyncIterator[Explorer]:
    async with explorer(database) as made:
        yield made


@pytest.fixture
def every_order(jobs: Rig, orders: Explorer) -> Callable[..., Awaitable[int]]:
    """Explore all orders; after each, `check` must hold, no session may have failed, and the laws must hold."""

    async def explore(
        prepare: Callable[[], Awaitable[Mapping[str, Session]]],
        check: Callable[[Outcome], Awaitable[Any]],
        shown: Callable[[], list[int]] = list,
    ) -> int:
        async def fresh() -> Mapping[str, Session]:
            await jobs.fetch(FORGET)
            return await prepare()

        async def judge(outcome: Outcome) -> None:
            assert not outcome.errors
            assert not [line for line in lines if line["event"] == "a pick was refused"]
            await check(outcome)
            await hold(jobs, shown())

        with capture_logs() as lines:
            return await orders.explore(fresh, judge)

    return explore
