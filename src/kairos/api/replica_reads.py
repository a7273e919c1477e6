"""Read lists, statistics and history from a replica, with their age; from the primary if the replica does not fit."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from kairos.errors import ConfigError, DatabaseUnavailable
from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import REFUSED, RETRYABLE
from kairos.store.query import Operation, Outbox, Query, drive

if TYPE_CHECKING:
    from fastapi import Request

    from kairos.api.app import Service
    from kairos.app import Kairos

log = Logger("kairos.api")

T = TypeVar("T")

# Seconds between two comparisons of the replica with the primary, and the timeout of one.
COMPARE_EVERY = 0.5
_PATIENCE = 2.0
# Seconds without the replica after a failure, so that a lost one does not delay every request.
_RETRY = 5.0
_REPORT_EVERY = 30.0


class Unusable(Exception):
    """The replica cannot answer now; the message says why."""


async def read_aged(
    request: Request, make: Callable[[], Operation[T]], otherwise: Callable[[], Awaitable[T]] | None = None
) -> T:
    """Run a read on the replica, or on the primary if there is no replica or it is unusable.

    On the primary `otherwise` is called if it is given, else the operation that `make` returns. Only for data that is
    displayed, never for data that a decision depends on.
    """
    service: Service = request.app
    if service.state.settings.replica_url is not None:
        replica = await service.component(ReplicaReads)
        try:
            found, request.state.age = await replica.run(make)
        except Unusable:
            pass  # reported
        else:
            return found
    kairos: Kairos = service.state.kairos
    return await (otherwise() if otherwise is not None else kairos.run(make()))


class ReplicaReads(AbstractAsyncContextManager["ReplicaReads"]):
    """Connections to the replica, and what is known of its age.

    The age is proven, not guessed from clocks: the position of the primary's log is noted with the time, and a replica
    that has replayed up to there is at most as old as the note. So an idle primary does not look like a lagging
    replica, and a replica that lost its primary does not look fresh. Positions are compared on one timeline of the log:
    a standby of a former primary that is still alive may have replayed more than the new primary has written.
    """

    def __init__(self, service: Service) -> None:
        self._kairos = service.state.kairos
        settings = service.state.settings
        self._most = settings.replica_lag
        self._store = AsyncStore(settings.replica_url, replace(self._kairos.settings, require_standby=False))
        self._turn = asyncio.Lock()
        self._compared = 0.0
        self._notes: deque[tuple[float, int]] = deque()  # when the primary's log had reached which position
        self._proven: float | None = None  # the replica has all that was committed by then
        self._behind = ""  # why nothing newer is proven
        self._failed_until = 0.0
        self._reason = ""
        self._reported = -_REPORT_EVERY

    async def __aexit__(self, *_: object) -> None:
        await self._store.close()

    async def run(self, make: Callable[[], Operation[T]]) -> tuple[T, float]:
        """Run a read, and return with its result how many seconds old it may be; raises `Unusable`."""
        if time.monotonic() < self._failed_until:
            raise Unusable(self._reason)
        try:
            proven = await self._fresh()
            found = await drive(make(), self._store.run, Outbox())
        except (ConfigError, DatabaseUnavailable, TimeoutError, *RETRYABLE, REFUSED) as error:
            raise await self._unusable(f"it does not answer ({error or type(error).__name__})") from error
        return found, time.monotonic() - proven

    async def _fresh(self) -> float:
        """Return the instant up to which the replica has everything; raises `Unusable` if that is too long ago."""
        async with self._turn:
            if time.monotonic() < self._failed_until:
                raise Unusable(self._reason)
            if time.monotonic() - self._compared >= COMPARE_EVERY:
                await self._compare()
        if self._proven is None or time.monotonic() - self._proven > self._most:
            raise await self._unusable(self._behind, pause=0.0)
        return self._proven

    async def _compare(self) -> None:
        async with asyncio.timeout(_PATIENCE):
            asked = time.monotonic()
            await self._kairos.open()
            (primary,) = await self._kairos.store.run(Query("read_wal_position", ()))
            (replica,) = await self._store.run(Query("read_replay_position", ()))
        self._compared = time.monotonic()
        if primary["cluster"] != replica["cluster"]:
            raise await self._unusable("it is a replica of another server")
        if not replica["is_standby"]:
            raise await self._unusable("it was promoted, and follows the primary no more")
        self._notes.append((asked, _position(primary["position"])))
        self._behind = f"it is more than {self._most:g} s behind the primary"
        if primary["timeline"] == replica["timeline"]:
            replayed = _position(replica["position"])
            while self._notes and self._notes[0][1] <= replayed:
                self._proven = self._notes.popleft()[0]
        else:
            self._behind = (
                f"it follows timeline {replica['timeline']}, and the primary is on {primary['timeline']}"
            )
        while len(self._notes) > 2 * self._most / COMPARE_EVERY + 2:
            self._notes.popleft()  # too old to make it usable again

    async def _unusable(self, why: str, *, pause: float = _RETRY) -> Unusable:
        """Note why the replica is not used; reported at most every half minute, in the log and as an alarm."""
        self._reason, now = why, time.monotonic()
        self._failed_until = now + pause
        if now - self._reported >= _REPORT_EVERY:
            self._reported = now
            log.error("the read replica is not used; lists are read from the primary", reason=why)
            try:
                await self._kairos.store.run(
                    Query("note_incident", ("replica_unusable", "lists and statistics", why[:300]))
                )
            except DatabaseUnavailable as error:
                log.warning("an alarm about the replica could not be stored", error=str(error))
        return Unusable(why)


def _position(text: str | None) -> int:
    """Return a position of the log (16/B374D848) as a number."""
    high, _, low = (text or "0/0").partition("/")
    return (int(high, 16) << 32) + int(low, 16)
