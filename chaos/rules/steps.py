"""C4, C8, C11: each step is committed once, in order, by the holder of its lease, and lost attempts are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from chaos.record import Record, Row

# Postgres and Python read one clock, in two calls.
SLACK = 0.005


def commits(record: Record, action: str = "walk") -> Iterator[Row]:
    """Return the changes that committed a step of a machine that counts them: its number rose, or the job ended."""
    for row in record.audit:
        ran = row["action"] == action and row["old"] == "executing"
        if ran and (row["new_n"] > row["old_n"] or row["new"] == "done"):
            yield row


def runs(record: Record) -> dict[tuple[int, int], list[tuple[Row, Row]]]:
    """Return the begin and end events of every step that ended, by job and lease.

    A crash of Postgres may forget a claim; then two workers have run with the same lease.
    """
    over = {(e["job"], e["lease"], e["pid"]): e for e in record.events("end")}
    found: dict[tuple[int, int], list[tuple[Row, Row]]] = defaultdict(list)
    for event in record.events("begin"):
        if (end := over.get((event["job"], event["lease"], event["pid"]))) is not None:
            found[event["job"], event["lease"]].append((event, end))
    return found


def steps_are_committed_once_and_in_order(record: Record) -> Iterator[str]:
    """C4: steps are committed as 0, 1, 2 …, each by the holder and lease with which it began and ended."""
    ran = runs(record)
    made: dict[int, list[int]] = defaultdict(list)
    for row in commits(record):
        made[row["job"]].append(row["old_n"])
        under = f"job {row['job']} committed step {row['old_n']} under lease {row['old_lease']}"
        recorded = ran.get((row["job"], row["old_lease"]), [])
        if not recorded:
            yield f"{under}, which never finished a step"
            continue
        holder = record.names.get(row["old_holder"])
        by_holder = [end for begin, end in recorded if begin["pid"] == holder]
        if not by_holder:
            yield f"{under} of {row['old_holder']}, who did not finish it"
        elif all(end["n"] != row["old_n"] for end in by_holder):
            yield f"{under}, which ran another step"
        elif all(end["wall"] > row["wall"] + SLACK for end in by_holder):
            yield f"{under} before the step had ended"
    for job in record.jobs:
        if (
            job["action"] == "walk"
            and job["status"] == "done"
            and made[job["id"]] != list(range(record.steps))
        ):
            yield f"job {job['id']} committed its steps as {made[job['id']]}"


def effects_come_with_their_commit(record: Record) -> Iterator[str]:
    """C4: the row that a step wrote in its transaction exists once if the step was committed, else not."""
    wanted = Counter((row["job"], row["old_n"]) for row in commits(record) if row["old_n"] % 2)
    found = Counter((row["job"], row["n"]) for row in record.effects)
    for job, n in (wanted | found) - (wanted & found):
        yield f"step {n} of job {job} was committed {wanted[job, n]} times and wrote {found[job, n]} rows"


def leases_only_rise(record: Record) -> Iterator[str]:
    """C8: the lease of a job never falls, and each claim raises it."""
    last: dict[int, int] = {}
    for row in record.audit:
        before = last.get(row["job"], 0)
        claimed = row["new"] == "executing" and row["old"] != "executing"
        if row["new_lease"] < before or (claimed and row["new_lease"] == before):
            yield f"job {row['job']} went from lease {before} to {row['new_lease']}"
        last[row["job"]] = row["new_lease"]


def only_lost_jobs_are_reaped(record: Record) -> Iterator[str]:
    """C8: a job is reaped only after its lease has expired or its worker has died."""
    died = {event["pid"]: event["wall"] for event in record.events("dies")}
    reaped = {(row["job"], row["tx"]) for row in record.history if row["verb"] == "reap"}
    for row in record.audit:
        taken = row["old"] == "executing" and (row["job"], row["tx"]) in reaped
        if not taken or row["lease_until"] <= row["now"]:
            continue
        dead = died.get(record.names.get(row["old_holder"], 0))
        if dead is None or dead > row["wall"] + SLACK:
            left = (row["lease_until"] - row["now"]) / 1e6
            yield f"job {row['job']} was reaped with {left:.3f} s of its lease left and {row['old_holder']} alive"


def attempts_are_bounded(record: Record) -> Iterator[str]:
    """C11: a job that kills its worker starts at most `max_reaps` + 1 times, and then fails with WORKER_LOST.

    A crash of Postgres may forget one claim more each time.
    """
    crashes = len([event for event in record.events("nemesis") if event.get("forgets")])
    begun = Counter(event["job"] for event in record.events("begin"))
    for job in record.jobs:
        if job["action"] != "poison":
            continue
        most = job["max_reaps"] + 1 + crashes
        if begun[job["id"]] > most:
            yield f"poison {job['id']} was begun {begun[job['id']]} times, at most {most} are allowed"
        if job["status"] == "failed" and job["error_code"] != "WORKER_LOST":
            yield f"poison {job['id']} failed as {job['error_code']}"
