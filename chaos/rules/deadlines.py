"""C10, C12: no job starts before it is due, after its TTL or after its cancel, and none expires early."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.record import Record
from chaos.rules.steps import SLACK


def ttl_is_exact(record: Record) -> Iterator[str]:
    """C10: no job expires before its TTL ends or is claimed after it, to the microsecond."""
    for row in record.audit:
        if row["expires"] is None:
            continue
        if row["new"] == "expired" and row["now"] < row["expires"]:
            yield f"job {row['job']} expired {row['expires'] - row['now']} µs early"
        if row["new"] == "executing" and row["old"] == "runnable" and row["now"] >= row["expires"]:
            yield f"job {row['job']} was claimed {row['now'] - row['expires']} µs after its TTL ended"


def nothing_starts_before_it_is_due(record: Record) -> Iterator[str]:
    """C10: no job is claimed before it is due, by the clock of the database."""
    for row in record.audit:
        if row["new"] == "executing" and row["old"] == "runnable" and row["now"] < row["due"]:
            yield f"job {row['job']} was claimed {row['due'] - row['now']} µs before it was due"


def cancelled_jobs_are_not_claimed(record: Record) -> Iterator[str]:
    """C12: no job is claimed after its cancel was acknowledged."""
    cancelled = {event["job"]: event["wall"] for event in record.events("cancelled")}
    for row in record.audit:
        if row["new"] == "executing" and row["wall"] > cancelled.get(row["job"], row["wall"]) + SLACK:
            yield f"job {row['job']} was claimed after its cancel was acknowledged"
