"""C15, C16: no deadlock, no lock left behind, and no loop of a worker that died by itself."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.record import Record


def no_deadlock_and_no_lock_is_left(record: Record) -> Iterator[str]:
    """C15: what Postgres says of itself after the run."""
    if record.server.get("deadlocks"):
        yield f"Postgres broke {record.server['deadlocks']} deadlocks"
    if record.server.get("advisory"):
        yield f"{record.server['advisory']} advisory locks are still held"
    if record.server.get("idle"):
        yield f"{record.server['idle']} sessions of Kairos were left inside a transaction"


def no_loop_died(record: Record) -> Iterator[str]:
    """C16: an invariant that does not hold ends the loop that finds it, and the log says so."""
    for words in ("a worker loop died", "AssertionError", "failed assertion"):
        if times := record.said.count(words):
            yield f"the log says {words!r} {times} times"
