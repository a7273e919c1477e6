"""Change many jobs by one statement, and go on without those that Postgres refuses to change."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from kairos.logger import Logger
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import Row

log = Logger("kairos.worker")

T = TypeVar("T")

# Seconds after which Postgres is asked again for what it refused.
_LEFT_ALONE = 60.0


class LeftAlone(Generic[T]):
    """The jobs or keys that Postgres refused to change in the last minute."""

    def __init__(self) -> None:
        self._until: dict[T, float] = {}

    def add(self, refused: T) -> None:
        self._until[refused] = time.monotonic() + _LEFT_ALONE

    def current(self) -> list[T]:
        now = time.monotonic()
        self._until = {each: until for each, until in self._until.items() if now < until}
        return list(self._until)


class RefusedJobs:
    """Run a sweep for all due jobs at once, or one job at a time if Postgres refuses that.

    What is refused then is the error of that one job, such as that of a trigger: it is left alone for a minute.
    """

    def __init__(
        self,
        sweep: Callable[[int | None, list[int]], Awaitable[Sequence[Row]]],
        find: Callable[[list[int]], Awaitable[Sequence[Row]]],
        complaint: str,
    ) -> None:
        """`sweep` changes one due job or all of them, and `find` returns them, both without the jobs in a list."""
        self._sweep = sweep
        self._find = find
        self._complaint = complaint
        self.left_alone = LeftAlone[int]()

    async def run(self) -> Sequence[Row]:
        """Return the rows of the sweep."""
        try:
            return await self._sweep(None, self.left_alone.current())
        except PASSING:
            raise
        except REFUSED:
            return await self._run_singly()

    async def _run_singly(self) -> list[Row]:
        rows: list[Row] = []
        for due in await self._find(self.left_alone.current()):
            try:
                rows += await self._sweep(due["id"], [])
            except PASSING:
                raise
            except REFUSED as error:
                self.left_alone.add(due["id"])
                log.error(self._complaint, job=due["id"], error=str(error))
        return rows
