"""Load the signals in the inboxes of picked jobs, in pages of bounded size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from kairos.json_codec import MAX_BYTES
from kairos.machine.context import Signal
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import Query, Row
from kairos.worker.claim import Claim

# The limits of one statement: bytes of payloads, jobs, and signals of each job.
_PAGE_BYTES = 4 << 20
_PAGE_JOBS = 100
_PAGE_SIGNALS = 1000
# A step is shown at most this many times the inbox quota. Replies of children, and signals stored before there was a
# quota, may exceed the quota.
_MOST_QUOTAS = 2


class Inboxes:
    """Load inboxes for many lanes: jobs whose steps start at the same time share a statement."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._waiting: list[tuple[Claim, asyncio.Future[None]]] = []
        self._loading: asyncio.Task[None] | None = None

    async def load(self, claim: Claim) -> None:
        """Fill the inbox of a claim; raise the error of Postgres if it refuses this job or is unavailable."""
        loaded = asyncio.get_running_loop().create_future()
        self._waiting.append((claim, loaded))
        if self._loading is None or self._loading.done():
            self._loading = asyncio.get_running_loop().create_task(self._load_all(), name="inboxes")
        await loaded

    async def _load_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_PAGE_JOBS], self._waiting[_PAGE_JOBS:]
            try:
                await load_inboxes(self._store, [claim for claim, _ in batch])
            except BaseException as error:  # noqa: BLE001 (raised in every waiting lane)
                if len(batch) > 1 and isinstance(error, REFUSED) and not isinstance(error, PASSING):
                    await self._load_singly(batch)
                else:
                    _resolve(batch, error)
            else:
                _resolve(batch)

    async def _load_singly(self, batch: Sequence[tuple[Claim, asyncio.Future[None]]]) -> None:
        """Load each inbox by itself, so that an error of one job does not fail the others of its batch."""
        for each in batch:
            try:
                await load_inboxes(self._store, [each[0]])
            except BaseException as error:  # noqa: BLE001 (raised in the waiting lane)
                _resolve([each], error)
            else:
                _resolve([each])


def _resolve(batch: Sequence[tuple[Claim, asyncio.Future[None]]], error: BaseException | None = None) -> None:
    """Let the lanes that wait for these inboxes continue, or raise the error in them."""
    for _, loaded in batch:
        if loaded.done():
            continue  # its lane was cancelled
        if error is None:
            loaded.set_result(None)
        elif isinstance(error, asyncio.CancelledError):
            loaded.cancel()
        else:
            loaded.set_exception(error)


async def load_inboxes(store: AsyncStore, claims: Sequence[Claim]) -> None:
    """Fill the inboxes of claims page by page, each until it is complete or exceeds the limit."""
    found: dict[int, list[Signal]] = {claim.id: [] for claim in claims}
    sizes = dict.fromkeys(found, 0)
    unfinished = list(claims)
    while unfinished:
        ids = [claim.id for claim in unfinished]
        after = [found[job][-1].id if found[job] else 0 for job in ids]
        query = Query("read_inboxes", (ids, after, _PAGE_BYTES, _PAGE_SIGNALS, MAX_BYTES))
        rows = await store.run(query)
        for row in rows:
            found[row["target_id"]].append(Signal(row["id"], row["name"], json.loads(row["payload"])))
            sizes[row["target_id"]] += len(row["payload"])
        unfinished = _unfinished(unfinished, rows, sizes)
    for claim in claims:
        claim.inbox = tuple(found[claim.id])


def _unfinished(claims: Sequence[Claim], rows: Sequence[Row], sizes: dict[int, int]) -> list[Claim]:
    """Return the claims that have more signals and are still below the limit."""
    if not rows:
        return []
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["target_id"]] = counts.get(row["target_id"], 0) + 1
    cut = len(rows) < rows[0]["found"]
    last = rows[-1]["target_id"]
    reached = [claim.id for claim in claims].index(last)
    more = [
        claim
        for place, claim in enumerate(claims)
        if counts.get(claim.id) == _PAGE_SIGNALS or (cut and place >= reached)
    ]
    for claim in more:
        claim.inbox_is_whole = sizes[claim.id] <= _MOST_QUOTAS * rows[0]["quota"]
    return [claim for claim in more if claim.inbox_is_whole]
