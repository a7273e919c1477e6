"""Claim jobs with a partition key: those whose key is free, and within the rate that the queue sets for each key."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from kairos.store.async_store import AsyncStore, Connection
from kairos.store.query import Query, Row
from kairos.worker.claim import Claim, read_claims
from kairos.worker.frozen_sessions import FrozenSessions


class KeyedPicks:
    """The second part of a pick: claim the candidates whose partition key is free."""

    def __init__(self, store: AsyncStore, worker: str, lease: timedelta, frozen: FrozenSessions) -> None:
        self._store = store
        self._worker = worker
        self._lease = lease
        self._frozen = frozen
        self.queues_with_key_rate: Collection[str] = frozenset()

    async def pick(self, queue: str, candidates: Sequence[Row]) -> list[Claim]:
        async with self._store.transaction() as connection:
            return await self.pick_on(connection, queue, candidates)

    async def pick_on(self, connection: Connection, queue: str, candidates: Sequence[Row]) -> list[Claim]:
        """`pick` in the transaction that is open on `connection`."""
        wanted = sorted({row["partition_key"] for row in candidates})
        # Locked by one statement and read by the next, whose snapshot is younger than the lock.
        locked = {row["key"] for row in await self._store.on(connection, Query("try_lock_keys", (wanted,)))}
        if len(locked) < len(wanted):
            self._frozen.met_lock()
        candidates = [row for row in candidates if row["partition_key"] in locked]
        if candidates and queue in self.queues_with_key_rate:
            candidates = await self._admit(connection, queue, sorted(locked), candidates)
        if not candidates:
            return []
        keys = sorted({row["partition_key"] for row in candidates})
        ids = [row["id"] for row in candidates]
        rows = await self._store.on(
            connection, Query("pick_keyed", (keys, ids, self._worker, self._lease, queue))
        )
        claims = list(read_claims(queue, rows))
        if claims and queue in self.queues_with_key_rate:
            spent = [claim.key for claim in claims]
            await self._store.on(connection, Query("charge_key_rates", (spent, queue)))
        return claims

    async def _admit(
        self, connection: Connection, queue: str, keys: list[str], candidates: Sequence[Row]
    ) -> list[Row]:
        """Return the candidates that the rates of their keys let start now; mark those of exhausted keys as held."""
        rows = await self._store.on(connection, Query("admit_keys", (keys, queue)))
        admitted = {row["key"]: row["admitted"] for row in rows}
        if exhausted := [key for key, count in admitted.items() if not count]:
            ids = [row["id"] for row in candidates]
            await self._store.on(connection, Query("hold_keys", (ids, exhausted, queue)))
        return first_of_each_key(candidates, admitted)


def first_of_each_key(candidates: Sequence[Row], admitted: Mapping[str, int]) -> list[Row]:
    """Return, in their order, the first `admitted[key]` candidates of each key."""
    left = dict(admitted)
    first = []
    for row in candidates:
        if left.get(row["partition_key"], 0) > 0:
            left[row["partition_key"]] -= 1
            first.append(row)
    return first
