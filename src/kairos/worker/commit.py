"""The statements of one commit of outcomes, in the order in which they take locks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from kairos.fsm.lifecycle import STORED, JobState, Verb
from kairos.logger import Logger
from kairos.operations import insert, timed
from kairos.store.array_literals import microseconds, plain, texts
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import LOCKED, PASSING, REFUSED
from kairos.store.query import Notify, Outbox, Query, Row, drive
from kairos.store.query import Operation as Steps
from kairos.worker.settle import Settlement

log = Logger("kairos.worker")

_CANCELLED = STORED[JobState.CANCELLED]
_PLAIN = attrgetter("plain")

# What a commit returned for each job: its row, or None if the job is done. If a job is missing, its claim was stale.
Answers: TypeAlias = dict[int, Row | None]

# How long a commit waits for a row that another session has locked before it goes on without it. Statements of ours
# hold a row for milliseconds. Below Postgres' deadlock_timeout, so that it also ends a deadlock.
LOCK_WAIT = "250ms"
# How many outcomes are tried one at a time in a round, each of which may wait for LOCK_WAIT.
_SINGLE_TRIES = 4


async def commit(store: AsyncStore, worker: str, batch: Sequence[Settlement]) -> Answers:
    """Write a batch of outcomes, all or none: mostly by one statement, which needs no explicit transaction."""
    if all(map(_is_alone, batch)):
        query = settle_query(worker, batch)
        async with store.connection() as connection:
            return read_answers(query, batch, await store.on(connection, query))
    outbox = Outbox()
    async with store.transaction() as connection:
        answers = await drive(settle_all(worker, batch), partial(store.on, connection), outbox)
    store.outbox.add(outbox.take())
    return answers


def _is_alone(each: Settlement) -> bool:
    """Whether an outcome writes to no job but its own."""
    return each.claim.reply_to is None and not each.children and each.verb is not Verb.AWAIT


@dataclass(slots=True)
class CommitResult:
    """What a commit has written (`answers`), and the outcomes whose rows are locked or that Postgres refused."""

    answers: Answers = field(default_factory=dict)
    locked: list[Settlement] = field(default_factory=list)
    refused: list[Settlement] = field(default_factory=list)


async def commit_unlocked_rows(store: AsyncStore, worker: str, batch: Sequence[Settlement]) -> CommitResult:
    """Write the outcomes of the batch whose rows no other session has locked; wait for none of the others.

    Outcomes with children come one at a time: a child's unique key may wait for a transaction of another session.
    No error is raised, since the outcomes that one transaction wrote must be acknowledged even if the next one fails.
    """
    done = CommitResult()
    singles = [[each] for each in batch if each.children]
    groups = [[each for each in batch if not each.children], *singles[:_SINGLE_TRIES]]
    for group in filter(None, groups):
        outbox = Outbox()
        try:
            async with store.transaction() as connection:
                answers, locked = await drive(
                    _settle_unlocked_rows(worker, group), partial(store.on, connection), outbox
                )
        except LOCKED:
            done.locked += group
        except PASSING:
            for each in group:
                each.in_doubt = True
            done.locked += group
        except REFUSED:
            done.refused += group
        else:
            store.outbox.add(outbox.take())
            done.answers |= answers
            done.locked += locked
    # The outcomes that were not tried come first the next time.
    done.locked[:0] = [each for single in singles[_SINGLE_TRIES:] for each in single]
    return done


def _settle_unlocked_rows(
    worker: str, batch: Sequence[Settlement]
) -> Steps[tuple[Answers, list[Settlement]]]:
    """Write the outcomes whose rows could be locked; return what was written, and the outcomes of locked rows."""
    claims = [each.claim for each in batch]
    answers = yield Query(
        "try_lock_jobs",
        (
            [claim.id for claim in claims],
            [claim.lease for claim in claims],
            worker,
            [claim.reply_to for claim in claims],
            LOCK_WAIT,
        ),
    )
    answer = {row["id"]: row["answer"] for row in answers}
    free = [each for each in batch if answer[each.claim.id] == "free"]
    written = (yield from _settle_locked(worker, free, LOCK_WAIT)) if free else {}
    return written, [each for each in batch if answer[each.claim.id] == "busy"]


def settle_all(worker: str, batch: Sequence[Settlement], lock_wait: str = LOCK_WAIT) -> Steps[Answers]:
    """Run all statements of one commit: locks, outcomes, parks with their recheck, children."""
    # All locks at once, before anything is written: two commits that take turns could each wait for the other.
    yield lock_query(worker, batch, lock_wait)
    return (yield from _settle_locked(worker, batch, lock_wait))


def lock_query(worker: str, batch: Sequence[Settlement], lock_wait: str = LOCK_WAIT) -> Query:
    claims = [each.claim for each in batch]
    replies = [claim.reply_to for claim in claims if claim.reply_to is not None]
    ids, leases = [claim.id for claim in claims], [claim.lease for claim in claims]
    return Query("lock_jobs", (ids, leases, worker, replies, lock_wait))


def _settle_locked(worker: str, batch: Sequence[Settlement], lock_wait: str) -> Steps[Answers]:
    plain = [each for each in batch if each.verb is not Verb.AWAIT]
    parked = [each for each in batch if each.verb is Verb.AWAIT]
    answers: Answers = {}
    if plain:
        query = settle_query(worker, plain, lock_wait)
        answers |= read_answers(query, plain, (yield query))
    if parked:
        answers |= {row["id"]: row for row in (yield park_query(worker, parked))}
        shown = [signal.id for each in parked for signal in each.claim.inbox]
        yield Query("recheck_inbox", ([each.claim.id for each in parked], shown))
    settled = {job for job, row in answers.items() if row is None or row["status"] != _CANCELLED}
    children = [call for each in batch if each.claim.id in settled for call in each.children]
    if children:
        yield insert((yield from timed(children)))
        yield Notify(queues={call.queue for call in children})
    return answers


async def open_keys(store: AsyncStore, keys: list[str]) -> bool:
    """Put the first held jobs of each key back into the pick index, once the picks that have the key locked end.

    Skip a key that stays locked and return False; the sweeper opens it later.
    """
    try:
        async with store.transaction() as connection:
            await store.on(connection, Query("wait_for_key_locks", (keys,)))
            await store.on(connection, Query("open_keys", (keys,)))
    except LOCKED:
        pass
    except PASSING:
        raise
    except REFUSED:
        pass
    else:
        return True
    locked, _ = await open_free_keys(store, keys)
    return not locked


async def open_free_keys(store: AsyncStore, keys: list[str]) -> tuple[list[str], list[str]]:
    """Do as `open_keys` without waiting; return the keys that are locked, and those that Postgres refuses to open.

    If it refuses to open all of them, each is opened by itself.
    """
    try:
        return await _open_free(store, keys), []
    except PASSING:
        raise
    except REFUSED as error:
        if len(keys) == 1:
            log.error("Postgres refuses to open a key", key=keys[0], error=str(error))
            return [], keys
    singly = [await open_free_keys(store, [key]) for key in keys]
    return [key for locked, _ in singly for key in locked], [key for _, refused in singly for key in refused]


async def _open_free(store: AsyncStore, keys: list[str]) -> list[str]:
    async with store.transaction() as connection:
        free = {row["key"] for row in await store.on(connection, Query("try_lock_keys", (keys,)))}
        await store.on(connection, Query("open_keys", (sorted(free),)))
    return [key for key in keys if key not in free]


def settle_query(worker: str, batch: Sequence[Settlement], lock_wait: str = LOCK_WAIT) -> Query:
    claims = [each.claim for each in batch]
    if all(map(_PLAIN, batch)):
        ids, leases = plain([claim.id for claim in claims]), plain([claim.lease for claim in claims])
        results = texts([each.result for each in batch])
        return Query("finish_jobs", (ids, leases, results, worker, lock_wait))
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
            plain([claim.due for claim in claims]),
            texts([each.progress for each in batch]),
            lock_wait,
            texts([each.error_group for each in batch]),
            texts([each.error_frame for each in batch]),
            plain([each.keep_state or None for each in batch]),
        ),
    )


def read_answers(query: Query, batch: Sequence[Settlement], rows: Sequence[Row]) -> Answers:
    """Return what the statement of `settle_query` wrote; finish_jobs returns only the stale outcomes."""
    if query.name != "finish_jobs":
        return {row["id"]: row for row in rows}
    answers: Answers = dict.fromkeys([each.claim.id for each in batch])
    for row in rows:
        del answers[row["id"]]
    return answers


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
            plain([each.keep_state or None for each in batch]),
        ),
    )
