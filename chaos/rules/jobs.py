"""C1, C2, C3, C9, C14: every accepted job exists, changes by the lifecycle, ends once, and is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.record import TERMINAL, Record

# The lifecycle by stored status; a copy on purpose, since the checker imports nothing of Kairos.
ALLOWED = {
    "runnable": {"runnable", "executing", "cancelled", "expired"},
    "executing": {"executing", "runnable", "awaiting_signal", "done", "failed", "cancelled"},
    "awaiting_signal": {"runnable", "cancelled"},
}


def accepted_jobs_end(record: Record) -> Iterator[str]:
    """C1: every acknowledged job exists and has ended."""
    states = {job["id"]: job["status"] for job in record.jobs}
    for event in record.events("ack"):
        status = states.get(event["job"])
        if status is None:
            yield f"job {event['job']} was accepted and does not exist"
        elif status not in TERMINAL and not event.get("unserved"):
            yield f"job {event['job']} was accepted and is {status}"


def a_job_ends_once(record: Record) -> Iterator[str]:
    """C1: no job ends twice."""
    ends = Counter(
        row["job"] for row in record.audit if row["new"] in TERMINAL and row["old"] not in TERMINAL
    )
    yield from (f"job {job} ended {times} times" for job, times in ends.items() if times > 1)


def only_poison_fails(record: Record) -> Iterator[str]:
    """C1: faults fail no job; only `poison`, which kills its worker each time, fails."""
    for job in record.jobs:
        if job["status"] == "failed" and job["action"] != "poison":
            yield f"job {job['id']} ({job['action']}) failed with {job['error_code']}"
        if job["status"] == "done" and job["action"] == "poison":
            yield f"poison {job['id']} succeeded"


def every_job_was_requested(record: Record) -> Iterator[str]:
    """C2: each job was requested by a client, fired by a schedule, or is a child; each request made at most one."""
    requested = {event["token"] for event in record.events("ask")}
    for job in record.jobs:
        if job["reply_to"] is None and job["schedule"] is None and job["token"] not in requested:
            yield f"job {job['id']} was not requested"
    twice = Counter(job["token"] for job in record.jobs if job["token"])
    yield from (f"request {token} made {n} jobs" for token, n in twice.items() if n > 1)


def only_allowed_changes(record: Record) -> Iterator[str]:
    """C3: every change of status is allowed by the lifecycle."""
    for row in record.audit:
        if row["old"] is not None and row["new"] not in ALLOWED.get(row["old"], ()):
            yield f"job {row['job']} went from {row['old']} to {row['new']}"


def the_run_drains(record: Record) -> Iterator[str]:
    """C9: after the faults, all accepted jobs end in a bounded time."""
    if not record.drained:
        live = [job for job in record.jobs if job["status"] not in TERMINAL]
        left = Counter(job["status"] for job in live)
        yield "jobs did not end after the faults: " + ", ".join(
            f"{n} {status}" for status, n in sorted(left.items())
        )
        for job in live[:5]:
            yield f"job {job['id']} did not end: {job.get('row')}"


def the_ledger_balances(record: Record) -> Iterator[str]:
    """C14: accepted = live + ended + purged, by the ledger that each commit updates."""
    if record.ledger and record.ledger["accepted"] != record.ledger["present"] + record.ledger["gone"]:
        yield "the ledger has {accepted} inserted and {gone} deleted jobs, and there are {present}".format(
            **record.ledger
        )
