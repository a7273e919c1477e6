"""The sessions that meet: a worker, a client and a sweeper, each over a store that steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine_statements import Hand, Rig
from tests.interleavings.stepping import COMMIT, Session, StepStore

from kairos import operations
from kairos.store.query import Query, drive
from kairos.worker.claim import Claim
from kairos.worker.settle import Settlement
from kairos.worker.sweeper import Sweeper


def session(
    body: Callable[[Any], Any],
    *,
    ending: str = COMMIT,
    ends: str = "",
    gated: tuple[str, ...] = (),
    coarse: bool = False,
) -> Session:
    """A session that ends one of its transactions so, and takes the snapshots of these statements early.

    A coarse one steps by transactions instead of statements: for a part whose insides others explore.
    """

    async def played(store: StepStore) -> Any:
        store.ending, store.ends, store.gated, store.coarse = ending, ends, frozenset(gated), coarse
        return await body(store)

    return played


def asks(verb: Callable[[], Any], **how: Any) -> Session:
    """A client's verb, each of its statements a commit of its own."""
    return session(lambda store: drive(verb(), store.run), **how)


def sends(name: str, *params: Any, **how: Any) -> Session:
    """One statement."""
    return session(lambda store: store.run(Query(name, params)), **how)


def delivers(job: int, name: str, dedup_key: str | None = None, **how: Any) -> Session:
    """The statement of a signal, without what follows to tell about it; answers its row."""
    return session(lambda store: _first(store, operations.signal(job, name, dedup_key=dedup_key)), **how)


def cancels(job: int, **how: Any) -> Session:
    """The statement of a cancel, without what follows to tell about it; answers its row."""
    return session(lambda store: _first(store, operations.cancel(job)), **how)


async def _first(store: Any, verb: Any) -> Any:
    (row,) = await store.run(next(verb))
    return row


def reaps(**how: Any) -> Session:
    return sends("reap_jobs", 10, None, "reaper", None, [], **how)


def commits(worker: str, *settlements: Settlement, **how: Any) -> Session:
    """A flusher's tick: the outcomes, then the keys they free; answers how many were committed."""
    return session(lambda store: Hand(store, worker).commit(*settlements), **how)


def picks(worker: str, room: int = 10, queue: str = "default", **how: Any) -> Session:
    """A picker's pick of one queue; answers its claims."""

    async def body(store: Any) -> list[Claim]:
        hand = Hand(store, worker)
        await hand.picker.pick(queue, room)
        return hand.claims

    return session(body, **how)


def sweeps(**how: Any) -> Session:
    """A sweeper's tick."""
    return session(lambda store: Sweeper(store, "sweeper").tick(), **how)


async def claimed(rig: Rig, worker: str = "w1", **options: Any) -> Claim:
    """A fresh job that `worker` has just picked."""
    job = await rig.enqueue(**options)
    (claim,) = [claim for claim in await rig.worker(worker).pick() if claim.id == job]
    return claim
