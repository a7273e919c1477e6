"""Measure how long the jobs of a killed worker stay claimed: until then no other worker can pick them.

While Postgres takes no writes nobody can hand a job back. Such recoveries are counted by themselves, from the moment
that Postgres was back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chaos.record import Record

# The names in the report, by whether the keeper of the worker survived and could hand its jobs back.
NAMES = {True: "a kill", False: "a lost machine"}
_SHARES = {"p50": 0.5, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a job was taken from a dead worker: after how many seconds, and how long Postgres had been back by then.

    `since_outage` is None if Postgres took writes all the while.
    """

    keeper: bool
    seconds: float
    since_outage: float | None = None


def recoveries(record: Record) -> Iterator[Recovery]:
    """Yield the recovery of each job that a worker held when it was killed."""
    deaths = {event["pid"]: event for event in record.events("dies") if "keeper" in event}
    taken = {(row["job"], row["tx"]) for row in record.history if row["verb"] in ("reap", "release")}
    outages = [(event["began"], event["until"]) for event in record.events("outage")]
    for row in record.audit:
        death = deaths.get(record.names.get(row["old_holder"], 0))
        if death is None or row["old"] != "executing" or (row["job"], row["tx"]) not in taken:
            continue
        if row["wall"] > death["wall"]:
            back = [until for began, until in outages if began < row["wall"] and until > death["wall"]]
            late = max(0.0, row["wall"] - max(back)) if back else None
            yield Recovery(death["keeper"], row["wall"] - death["wall"], late)


def figures(record: Record) -> Iterator[tuple[str, int]]:
    """Return the number, the median and the 95th percentile of each kind, in milliseconds."""
    found = list(recoveries(record))
    for keeper, name in NAMES.items():
        of = [each for each in found if each.keeper == keeper]
        yield from _figures(f"recovery after {name}", [e.seconds for e in of if e.since_outage is None])
        waited = [each.since_outage for each in of if each.since_outage is not None]
        yield from _figures(f"recovery after {name} while Postgres was unavailable, from its return", waited)


def _figures(name: str, seconds: list[float]) -> Iterator[tuple[str, int]]:
    if not seconds:
        return
    yield f"{name}, jobs", len(seconds)
    for share, part in _SHARES.items():
        value = sorted(seconds)[min(len(seconds) - 1, int(part * len(seconds)))]
        yield f"{name}, {share}, ms", round(1000 * value)
