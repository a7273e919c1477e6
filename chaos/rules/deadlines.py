"""C10, C12: nothing starts before its time, after its TTL or after its cancel, and nothing expires early."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.record import Record
from chaos.rules.steps import SLACK


def ttl_is_exact(record: Record) -> Iterator[str]:
    """C10: nothing expires before its time, and nothing is claimed from then on; to the microsecond."""
    for row in record.audit:
        if row["expires"] is None:
            continue
        if row["new"] == "expired" and row["now"] < row["expires"]:
            yield f"job {row['job']} expired {row['expires'] - row['now']} µs early"
        if row["new"] == "executing" and row["old"] == "runnable" and row["now"] >= row["expires"]:
            yield f"job {row['job']} was claimed {row['now'] - row['expires']} µs after its TTL closed"


def nothing_starts_before_it_is_due(record: Record) -> Iterator[str]:
    """C10: by the clock of the database, whatever time it is for its worker."""
    for row in record.audit:
        if row["new"] == "executing" and row["old"] == "runnable" and row["now"] < row["due"]:
            yield f"job {row['job']} was claimed {row['due'] - row['now']} µs before it was due"


def cancelled_jobs_are_not_claimed(record: Record) -> Iterator[str]:
    """C12: once a cancel is acknowledged, no worker takes the job any more."""
    cancelled = {event["job"]: event["wall"] for event in record.events("cancelled")}
    for row in record.audit:
        if row["new"] == "executing" and row["wall"] > cancelled.get(row["job"], row["wall"]) + SLACK:
            yield f"job {row['job']} was claimed after its cancel was acknowledged"
