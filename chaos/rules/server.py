"""C15, C16: no deadlock, no lock left behind, and no loop of a worker that died."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.record import Record


def no_deadlock_and_no_lock_is_left(record: Record) -> Iterator[str]:
    """C15: Postgres reports no deadlock, no advisory lock and no open transaction of Kairos after the run."""
    if record.server.get("deadlocks"):
        yield f"Postgres broke {record.server['deadlocks']} deadlocks"
    if record.server.get("advisory"):
        yield f"{record.server['advisory']} advisory locks are still held"
    if record.server.get("idle"):
        yield f"{record.server['idle']} sessions of Kairos were left inside a transaction"


def no_loop_died(record: Record) -> Iterator[str]:
    """C16: the log has no failed assertion and no loop that died."""
    for words in ("a worker loop died", "AssertionError", "failed assertion"):
        if times := record.log.count(words):
            yield f"the log has {words!r} {times} times"
