"""C13: a reader of the event stream receives each committed event once and in order, despite lost connections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from chaos.record import Record


def streams_are_complete(record: Record) -> Iterator[str]:
    """C13: a reader received exactly the events that were committed between its first and its last one."""
    received: dict[str, list[int]] = defaultdict(list)
    for event in record.events("received"):
        received[event["reader"]].append(event["cursor"])
    committed = sorted(row["id"] for row in record.history)
    for reader, cursors in received.items():
        if cursors != sorted(set(cursors)):
            yield f"{reader} received events twice or out of order"
        inside = [cursor for cursor in committed if cursors[0] <= cursor <= cursors[-1]]
        if missing := set(inside) - set(cursors):
            yield f"{reader} did not receive {len(missing)} events, the first of them {min(missing)}"
        if uncommitted := set(cursors) - set(committed):
            yield f"{reader} received {len(uncommitted)} events that were not committed"


def log_lines_are_kept_once(record: Record) -> Iterator[str]:
    """C13: the log line of each committed step exists once.

    A line has the number and the lease of its step. Lines of steps that were not committed may exist or not.
    """
    lines: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in record.logs:
        lines[row["job"]].append((row["n"], row["lease"]))
    for job, found in lines.items():
        for (n, lease), times in Counter(found).items():
            if times > 1:
                yield f"job {job} has the line of step {n}, lease {lease} {times} times"
    for row in record.audit:
        committed = row["action"] == "walk" and row["old"] == "executing" and row["new_n"] > row["old_n"]
        if committed and record.logs and (row["old_n"], row["old_lease"]) not in lines[row["job"]]:
            yield f"job {row['job']} committed step {row['old_n']} and lost its log line"
