"""C1, C2, C3, C9, C14: what was accepted is there, ends once and by the lifecycle, and all of it is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.record import TERMINAL, Record

# The lifecycle as the design writes it, by stored status.
ALLOWED = {
    "runnable": {"runnable", "executing", "cancelled", "expired"},
    "executing": {"executing", "runnable", "awaiting_signal", "done", "failed", "cancelled"},
    "awaiting_signal": {"runnable", "cancelled"},
}


def accepted_jobs_end(record: Record) -> Iterator[str]:
    """C1: whatever was acknowledged is there and has ended."""
    states = {job["id"]: job["status"] for job in record.jobs}
    for event in record.events("ack"):
        status = states.get(event["job"])
        if status is None:
            yield f"job {event['job']} was accepted and is not there"
        elif status not in TERMINAL and not event.get("unserved"):
            yield f"job {event['job']} was accepted and is {status}"


def a_job_ends_once(record: Record) -> Iterator[str]:
    """C1: no job comes to a second end."""
    ends = Counter(
        row["job"] for row in record.audit if row["new"] in TERMINAL and row["old"] not in TERMINAL
    )
    yield from (f"job {job} ended {times} times" for job, times in ends.items() if times > 1)


def only_poison_fails(record: Record) -> Iterator[str]:
    """C1: no fault of a machine is the failure of a job; only a job that kills its worker each time fails."""
    for job in record.jobs:
        if job["status"] == "failed" and job["action"] != "poison":
            yield f"job {job['id']} ({job['action']}) failed with {job['error_code']}"
        if job["status"] == "done" and job["action"] == "poison":
            yield f"poison {job['id']} succeeded"


def nothing_from_nowhere(record: Record) -> Iterator[str]:
    """C2: each job was asked for by a client, fired by a schedule, or is the child of one that was."""
    asked = {event["token"] for event in record.events("ask")}
    for job in record.jobs:
        if job["reply_to"] is None and job["schedule"] is None and job["token"] not in asked:
            yield f"nobody asked for job {job['id']}"
    twice = Counter(job["token"] for job in record.jobs if job["token"])
    yield from (f"asking once ({token}) made {n} jobs" for token, n in twice.items() if n > 1)


def only_allowed_changes(record: Record) -> Iterator[str]:
    """C3: every change is one of the lifecycle's."""
    for row in record.audit:
        if row["old"] is not None and row["new"] not in ALLOWED.get(row["old"], ()):
            yield f"job {row['job']} went from {row['old']} to {row['new']}"


def the_run_drains(record: Record) -> Iterator[str]:
    """C9: once the faults are over, all that was accepted comes to rest in a bounded time."""
    if not record.drained:
        live = [job for job in record.jobs if job["status"] not in TERMINAL]
        left = Counter(job["status"] for job in live)
        yield "after the faults were over, the work did not come to rest: " + ", ".join(
            f"{n} {status}" for status, n in sorted(left.items())
        )
        for job in live[:5]:
            yield f"job {job['id']} did not end: {job.get('row')}"


def the_ledger_balances(record: Record) -> Iterator[str]:
    """C14: accepted = live + ended + purged, by the books that each commit writes."""
    if record.ledger and record.ledger["accepted"] != record.ledger["present"] + record.ledger["gone"]:
        yield "{accepted} jobs were booked in and {gone} out, and there are {present}".format(**record.ledger)
