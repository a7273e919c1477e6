"""What the tests of the worker share: waiting for a fact, and reading a job's history in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kairos.fsm.lifecycle import TERMINAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kairos import Job, Kairos

TIMEOUT = 120.0


async def until(fact: Callable[[], Awaitable[Any] | Any], what: str = "the fact") -> Any:
    """Ask again and again until the answer is true; a fact that never comes fails the test."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            answer = fact()
            answer = await answer if isinstance(answer, Awaitable) else answer
            if answer:
                return answer
            await asyncio.sleep(0.01)
    raise AssertionError(f"{what} never came")


async def reaches(app: Kairos, job_id: int, *states: str) -> Job:
    """The job once it is in one of the states."""

    async def there() -> Job | None:
        job = await app.get(job_id)
        return job if job.state in states else None

    return await until(there, f"job {job_id} in {states}")


async def ended(app: Kairos, job_id: int) -> Job:
    return await reaches(app, job_id, *TERMINAL)


async def verbs(app: Kairos, job_id: int) -> list[str]:
    return [row.verb for row in await app.history(job_id)]


async def fetch(app: Kairos, sql: str, *params: Any) -> list[Any]:
    async with app.store.connection() as connection:
        return await connection.fetch(sql, *params)


@asynccontextmanager
async def working(app: Kairos, **settings: Any) -> AsyncIterator[Any]:
    """The app, open, with a worker in this process that looks often."""
    async with app, app.worker(**{"poll": 0.1, "grace": 5, **settings}) as worker:
        yield worker
