"""Count what happened in a run, and report what happened so rarely that the run proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from chaos.failpoints import TRANSACTIONS as TRANSACTIONS
from chaos.record import TERMINAL, Record

# The least number of each in ten seconds. A run of a minute or more also needs one of each possible fault.
_EACH_TEN_SECONDS = {
    "kill": 0.7,
    "freeze": 0.5,
    "cut": 0.3,
    "cut after commit": 0.3,
    "reaps": 1.0,
    "zombies refused": 0.3,
    "jobs expired": 0.5,
    "jobs cancelled": 0.5,
    "signals that woke": 1.0,
    "signals that waited": 1.0,
    "ticks fired": 1.0,
    "ack": 30.0,
}
_SIGNALS = ("signals that woke", "signals that waited")
_WITH_HTTP = {"requested over HTTP": 5.0, "events received": 20.0}


def count(record: Record, counted: Counter[str]) -> Counter[str]:
    counts: Counter[str] = Counter({f"jobs {job}": 0 for job in TERMINAL})
    counts.update(f"jobs {job['status']}" for job in record.jobs)
    counts.update(f"failed as {job['error_code']}" for job in record.jobs if job["status"] == "failed")
    counts.update(
        event["e"] for event in record.journal if event["e"] in ("ask", "ack", "info", "begin", "end")
    )
    counts.update(counted)
    counts["reaps"] = sum(row["verb"] == "reap" for row in record.history)
    counts["zombies refused"] = record.log.count("stale commit refused") + record.log.count(
        "lease lost while running"
    )
    answers = Counter(event["answer"] for event in record.events("sent"))
    counts["signals that woke"], counts["signals that waited"] = answers["woke"], answers["delivered"]
    counts["ticks fired"] = sum(row["job"] is not None for row in record.ticks)
    counts["requested over HTTP"] = sum(bool(event.get("http")) for event in record.events("ask"))
    counts["requested twice"] = sum(bool(event.get("again")) for event in record.events("ack"))
    counts["events received"] = len(record.events("received"))
    return counts


def wanted_faults(seconds: float, faults: Mapping[str, float]) -> dict[str, int]:
    """Return how often each fault must happen at least."""
    once = {name: 1 for name in faults if seconds >= 60}
    return once | {name: _least(name, seconds) for name in _EACH_TEN_SECONDS if name in faults}


def wanted_of_clients(seconds: float, *, http: bool, signals: bool = True) -> dict[str, int]:
    """Return how many acknowledgements the clients must receive at least, by kind."""
    names = ["ack", *(_SIGNALS if signals else ()), *(_WITH_HTTP if http else ())]
    return {name: _least(name, seconds) for name in names}


def missing(counts: Counter[str], seconds: float, faults: Mapping[str, float], workers: int) -> list[str]:
    """Return what happened too rarely."""
    floors = _EACH_TEN_SECONDS | (_WITH_HTTP if "service" in faults else {})
    wanted = {name: _least(name, seconds) for name in floors if name not in _FAULTS}
    wanted |= wanted_faults(seconds, faults)
    short = [f"{name}: {counts[name]} of {least}" for name, least in wanted.items() if counts[name] < least]
    if counts["workers alive at the end"] < workers:
        short.append("a worker was dead at the end")
    return short


def _least(name: str, seconds: float) -> int:
    return max(1, int((_EACH_TEN_SECONDS | _WITH_HTTP)[name] * seconds / 10))


_FAULTS = {"kill", "freeze", "cut", "cut after commit"}
