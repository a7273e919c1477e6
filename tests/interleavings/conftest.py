from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest
from tests.emptied import database, kept_database, quiet
from tests.interleavings.explorer import Explorer, Outcome, explorer
from tests.interleavings.laws import hold
from tests.interleavings.stepping import Session
from tests.rig import Rig, rig

__all__ = ["database", "kept_database", "quiet"]

FORGET = "delete from kairos.gen_durable where fsm <> 'filler'"


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
            await jobs.fetch(f"with past as (delete from kairos.history) {FORGET}")
            return await prepare()

        async def judge(outcome: Outcome) -> None:
            assert not outcome.errors
            await check(outcome)
            await hold(jobs, shown())

        return await orders.explore(fresh, judge)

    return explore
