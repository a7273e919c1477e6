"""What a run did, counted, and what it should have done to mean anything: a green run has to prove its danger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from chaos.failpoints import TRANSACTIONS as TRANSACTIONS
from chaos.record import TERMINAL, Record

# How many of each ten seconds must have, at least; a run of any length has one of each fault that was possible.
_EACH_TEN_SECONDS = {
    "kill": 0.7,
    "freeze": 0.5,
    "cut": 0.3,
    "cut after commit": 0.3,
    "reaps": 1.0,
    "zombies refused": 0.3,
    "jobs expired": 0.5,
    "jobs cancelled": 0.5,
    "letters that woke": 1.0,
    "letters that waited": 1.0,
    "ticks fired": 1.0,
    "ack": 30.0,
}
_WITH_HTTP = {"asked over HTTP": 5.0, "events heard": 20.0}


def count(record: Record, did: Counter[str]) -> Counter[str]:
    counts: Counter[str] = Counter({f"jobs {job}": 0 for job in TERMINAL})
    counts.update(f"jobs {job['status']}" for job in record.jobs)
    counts.update(f"failed as {job['error_code']}" for job in record.jobs if job["status"] == "failed")
    counts.update(
        event["e"] for event in record.journal if event["e"] in ("ask", "ack", "info", "begin", "end")
    )
    counts.update(did)
    counts["reaps"] = sum(row["verb"] == "reap" for row in record.history)
    counts["zombies refused"] = record.said.count("stale commit refused") + record.said.count(
        "lease lost while running"
    )
    answers = Counter(event["answer"] for event in record.events("sent"))
    counts["letters that woke"], counts["letters that waited"] = answers["woke"], answers["delivered"]
    counts["ticks fired"] = sum(row["job"] is not None for row in record.ticks)
    counts["asked over HTTP"] = sum(bool(event.get("http")) for event in record.events("ask"))
    counts["asked twice"] = sum(bool(event.get("again")) for event in record.events("ack"))
    counts["events heard"] = len(record.events("heard"))
    return counts


def wanted_faults(seconds: float, faults: Mapping[str, float]) -> dict[str, int]:
    """How often each fault must happen, at least."""
    once = {name: 1 for name in faults if seconds >= 60}
    return once | {name: _many(name, seconds) for name in _EACH_TEN_SECONDS if name in faults}


def wanted_of_clients(seconds: float, *, http: bool) -> dict[str, int]:
    """What the clients must have been told, at least."""
    names = ["ack", "letters that woke", "letters that waited", *(_WITH_HTTP if http else ())]
    return {name: _many(name, seconds) for name in names}


def missing(counts: Counter[str], seconds: float, faults: Mapping[str, float], workers: int) -> list[str]:
    """What there was too little of."""
    floors = _EACH_TEN_SECONDS | (_WITH_HTTP if "service" in faults else {})
    wanted = {name: _many(name, seconds) for name in floors if name not in _FAULTS}
    wanted |= wanted_faults(seconds, faults)
    short = [f"{name}: {counts[name]} of {many}" for name, many in wanted.items() if counts[name] < many]
    if counts["workers alive at the end"] < workers:
        short.append("a worker did not live to the end")
    return short


def _many(name: str, seconds: float) -> int:
    return max(1, int((_EACH_TEN_SECONDS | _WITH_HTTP)[name] * seconds / 10))


_FAULTS = {"kill", "freeze", "cut", "cut after commit"}
