"""Measure how long the jobs of a killed worker stay claimed: until then no other worker can pick them."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.record import Record

# The names in the report, by whether the keeper of the worker survived and could hand its jobs back.
NAMES = {True: "a kill", False: "a lost machine"}


def recoveries(record: Record) -> dict[bool, list[float]]:
    """Return the seconds from each death to the hand-back or reap of each job, by whether the keeper survived."""
    deaths = {event["pid"]: event for event in record.events("dies") if "keeper" in event}
    taken = {(row["job"], row["tx"]) for row in record.history if row["verb"] in ("reap", "release")}
    found: dict[bool, list[float]] = {True: [], False: []}
    for row in record.audit:
        death = deaths.get(record.names.get(row["old_holder"], 0))
        if death is None or row["old"] != "executing" or (row["job"], row["tx"]) not in taken:
            continue
        if row["wall"] > death["wall"]:
            found[death["keeper"]].append(row["wall"] - death["wall"])
    return found


def figures(record: Record) -> Iterator[tuple[str, int]]:
    """Return the median and the 95th percentile of each, in milliseconds."""
    for keeper, seconds in recoveries(record).items():
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            if seconds:
                value = sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]
                yield f"recovery after {NAMES[keeper]}, {name}, ms", round(1000 * value)
