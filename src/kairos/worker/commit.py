"""What one commit of outcomes consists of: its statements, in the order in which they lock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kairos.fsm.lifecycle import STORED, JobState, Verb
from kairos.store.columns import instants, microseconds, plain, texts
from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row, drive
from kairos.store.query import Verb as Steps
from kairos.verbs import insert, timed
from kairos.worker.settle import Settlement

_CANCELLED = STORED[JobState.CANCELLED]


async def commit(store: AsyncStore, worker: str, batch: Sequence[Settlement]) -> Sequence[Row]:
    """Write a batch of outcomes, all or none; answers the rows of those that were not stale.

    One statement and no explicit transaction where that is enough, which it mostly is.
    """
    if all(
        each.verb is not Verb.AWAIT and each.claim.reply_to is None and not each.children for each in batch
    ):
        async with store.connection() as connection:
            return await store.on(connection, settle_query(worker, batch))
    async with store.transaction() as connection:
        return await drive(settle_all(worker, batch), partial(store.on, connection))


def settle_all(worker: str, batch: Sequence[Settlement]) -> Steps[list[Row]]:
    """Everything that belongs to one commit: locks, outcomes, parks with their recheck, children."""
    plain = [each for each in batch if each.verb is not Verb.AWAIT]
    parked = [each for each in batch if each.verb is Verb.AWAIT]
    claims = [each.claim for each in batch]
    replies = [claim.reply_to for claim in claims if claim.reply_to is not None]
    rows: list[Row] = []
    # All at once, before any of it is written: two commits that take turns could each wait for the other.
    yield Query(
        "lock_jobs", ([claim.id for claim in claims], [claim.lease for claim in claims], worker, replies)
    )
    if plain:
        rows += yield settle_query(worker, plain)
    if parked:
        rows += yield park_query(worker, parked)
        shown = [signal.id for each in parked for signal in each.claim.inbox]
        yield Query("recheck_inbox", ([each.claim.id for each in parked], shown))
    settled = {row["id"] for row in rows if row["status"] != _CANCELLED}
    children = [call for each in batch if each.claim.id in settled for call in each.children]
    if children:
        yield insert((yield from timed(children)))
    return rows


async def open_keys(store: AsyncStore, keys: list[str]) -> None:
    """Let the next in line of each key back into the pick, once pickers under way are through."""
    async with store.transaction() as connection:
        await store.on(connection, Query("wait_keys", (keys,)))
        await store.on(connection, Query("open_keys", (keys,)))


def settle_query(worker: str, batch: Sequence[Settlement]) -> Query:
    claims = [each.claim for each in batch]
    if all(
        each.verb is Verb.DONE and each.error is None and each.progress is None and not each.consumed
        for each in batch
    ):
        ids, leases = plain([claim.id for claim in claims]), plain([claim.lease for claim in claims])
        return Query("finish_jobs", (ids, leases, texts([each.result for each in batch]), worker))
    return Query(
        "settle_jobs",
        (
            plain([claim.id for claim in claims]),
            plain([claim.lease for claim in claims]),
            plain([each.verb for each in batch]),
            texts([claim.step for claim in claims]),
            plain([claim.attempt for claim in claims]),
            texts([each.step for each in batch]),
            texts([each.state for each in batch]),
            texts([each.result for each in batch]),
            microseconds(each.delay for each in batch),
            texts([each.error_code for each in batch]),
            texts([each.error for each in batch]),
            plain([each.ahead or None for each in batch]),
            [signal for each in batch for signal in each.consumed],
            worker,
            plain([each.claim.picked if each.ahead else None for each in batch]),
            instants(claim.due for claim in claims),
            texts([each.progress for each in batch]),
        ),
    )


def park_query(worker: str, batch: Sequence[Settlement]) -> Query:
    claims = [each.claim for each in batch]
    return Query(
        "park_jobs",
        (
            plain([claim.id for claim in claims]),
            plain([claim.lease for claim in claims]),
            texts([claim.step for claim in claims]),
            plain([claim.attempt for claim in claims]),
            texts([each.state for each in batch]),
            texts([texts(each.awaits) for each in batch]),
            microseconds(each.timeout for each in batch),
            texts([each.then for each in batch]),
            [signal for each in batch for signal in each.consumed],
            worker,
            texts([each.error for each in batch]),
            texts([each.progress for each in batch]),
        ),
    )
