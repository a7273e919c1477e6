"""What must be true of any run, judged from the journal and the rows alone. It imports nothing of Kairos.

The journal is what clients and steps told of themselves. The audit is written by a trigger of the harness
in the same transaction as each change of a job. The rules have the numbers of the reliability notes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Row = dict[str, Any]

TERMINAL = ("done", "failed", "cancelled", "expired")
# The lifecycle as the design writes it, by stored status.
ALLOWED = {
    "runnable": {"runnable", "executing", "cancelled", "expired"},
    "executing": {"executing", "runnable", "awaiting_signal", "done", "failed", "cancelled"},
    "awaiting_signal": {"runnable", "cancelled"},
}
# Postgres and Python read one clock, in two calls.
SLACK = 0.005


@dataclass
class Record:
    """Everything that is known of a run."""

    journal: list[Row]
    jobs: list[Row]
    audit: list[Row]
    effects: list[Row] = field(default_factory=list)
    steps: int = 4
    children: int = 3

    def events(self, *names: str) -> list[Row]:
        return [event for event in self.journal if event["e"] in names]


def check(record: Record) -> list[str]:
    """Every violation, as a sentence."""
    rules = (
        accepted_jobs_end,
        nothing_from_nowhere,
        only_allowed_changes,
        steps_are_committed_once_and_in_order,
        a_key_runs_one_step_at_a_time,
        letters_arrive_once,
        leases_only_rise,
        ttl_is_exact,
        cancelled_jobs_are_not_claimed,
        effects_come_with_their_commit,
        families_are_complete,
    )
    return [f"{rule.__name__}: {said}" for rule in rules for said in rule(record)]


def accepted_jobs_end(record: Record) -> Iterator[str]:
    """C1: whatever was acknowledged is there and has ended, once."""
    states = {job["id"]: job["status"] for job in record.jobs}
    for event in record.events("ack"):
        status = states.get(event["job"])
        if status not in TERMINAL:
            yield f"job {event['job']} was accepted and is {status or 'not there'}"
    ends = Counter(
        row["job"] for row in record.audit if row["new"] in TERMINAL and row["old"] not in TERMINAL
    )
    yield from (f"job {job} ended {times} times" for job, times in ends.items() if times > 1)


def nothing_from_nowhere(record: Record) -> Iterator[str]:
    """C2: each job was asked for by a client, or is the child of one that was."""
    asked = {event["token"] for event in record.events("ask")}
    for job in record.jobs:
        if job["reply_to"] is None and job["token"] not in asked:
            yield f"nobody asked for job {job['id']}"
    twice = Counter(job["token"] for job in record.jobs if job["token"])
    yield from (f"asking once ({token}) made {n} jobs" for token, n in twice.items() if n > 1)


def only_allowed_changes(record: Record) -> Iterator[str]:
    """C3: every change is one of the lifecycle's."""
    for row in record.audit:
        if row["old"] is not None and row["new"] not in ALLOWED.get(row["old"], ()):
            yield f"job {row['job']} went from {row['old']} to {row['new']}"


def commits(record: Record) -> Iterator[Row]:
    """The changes by which a step of a walk was committed: its number went up, or it ended."""
    for row in record.audit:
        ran = row["action"] == "walk" and row["old"] == "executing"
        if ran and (row["new_n"] > row["old_n"] or row["new"] == "done"):
            yield row


def runs(record: Record) -> dict[tuple[int, int], list[tuple[Row, Row]]]:
    """The begin and the end of every step that came to its end, by job and lease.

    A claim need not survive a crash of Postgres: then two workers have run under the same lease.
    """
    over = {(e["job"], e["lease"], e["pid"]): e for e in record.events("end")}
    found: dict[tuple[int, int], list[tuple[Row, Row]]] = defaultdict(list)
    for event in record.events("begin"):
        if (end := over.get((event["job"], event["lease"], event["pid"]))) is not None:
            found[event["job"], event["lease"]].append((event, end))
    return found


def steps_are_committed_once_and_in_order(record: Record) -> Iterator[str]:
    """C4: 0, 1, 2 …, each by the very lease whose step began and ended before."""
    ran = runs(record)
    made: dict[int, list[int]] = defaultdict(list)
    for row in commits(record):
        made[row["job"]].append(row["old_n"])
        told = ran[row["job"], row["old_lease"]]
        if not told:
            yield f"job {row['job']} was committed under lease {row['old_lease']}, which never finished a step"
        elif all(end["n"] != row["old_n"] for _, end in told):
            yield f"job {row['job']} committed step {row['old_n']} under lease {row['old_lease']}, which ran another"
        elif all(end["wall"] > row["wall"] + SLACK for _, end in told):
            yield f"job {row['job']} was committed under lease {row['old_lease']} before its step was over"
    done = {job["id"] for job in record.jobs if job["action"] == "walk" and job["status"] == "done"}
    for job in done:
        if made[job] != list(range(record.steps)):
            yield f"job {job} committed its steps as {made[job]}"


def a_key_runs_one_step_at_a_time(record: Record) -> Iterator[str]:
    """C5: what was committed of a key never overlapped, and no two of its jobs were ever executing."""
    ran = runs(record)
    spans: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for row in commits(record):
        told = [
            (begin, end)
            for begin, end in ran[row["job"], row["old_lease"]]
            if end["wall"] <= row["wall"] + SLACK
        ]
        if row["key"] is not None and told:
            begin, end = max(told, key=lambda run: run[1]["wall"])
            spans[row["key"]].append((begin["t"], end["t"], row["job"]))
    for key, found in spans.items():
        for (_, over, first), (begun, _, second) in pairwise(sorted(found)):
            if begun < over:
                yield f"key {key}: jobs {first} and {second} ran at once"
    holder: dict[str, int] = {}
    for row in record.audit:
        if row["key"] is None:
            continue
        if row["new"] == "executing" and holder.setdefault(row["key"], row["job"]) != row["job"]:
            yield f"key {row['key']}: job {row['job']} was claimed while {holder[row['key']]} held it"
        elif row["old"] == "executing" and row["new"] != "executing":
            holder.pop(row["key"], None)


def letters_arrive_once(record: Record) -> Iterator[str]:
    """C6: each letter that was acknowledged is in the output of its job once; no other is in any twice."""
    outputs = {job["id"]: job["output"] or [] for job in record.jobs if job["action"] == "inbox"}
    states = {job["id"]: job["status"] for job in record.jobs}
    sent = {(e["job"], e["number"]) for e in record.events("sent")}
    for job, output in outputs.items():
        for number, times in Counter(output).items():
            if times > 1:
                yield f"letter {number} to job {job} was taken {times} times"
        if states[job] == "done" and len(output) < len({number for to, number in sent if to == job}):
            lost = sorted({number for to, number in sent if to == job} - set(output))
            yield f"letters {lost} to job {job} were lost"


def leases_only_rise(record: Record) -> Iterator[str]:
    """C8: each claim has a token of its own."""
    last: dict[int, int] = {}
    for row in record.audit:
        before = last.get(row["job"], 0)
        claimed = row["new"] == "executing" and row["old"] != "executing"
        if row["new_lease"] < before or (claimed and row["new_lease"] == before):
            yield f"job {row['job']} went from lease {before} to {row['new_lease']}"
        last[row["job"]] = row["new_lease"]


def ttl_is_exact(record: Record) -> Iterator[str]:
    """C10: nothing expires before its time, and nothing is claimed after it."""
    for row in record.audit:
        if row["expires"] is None:
            continue
        if row["new"] == "expired" and row["now"] < row["expires"]:
            yield f"job {row['job']} expired {row['expires'] - row['now']:.3f} s early"
        if row["new"] == "executing" and row["old"] == "runnable" and row["now"] >= row["expires"]:
            yield f"job {row['job']} was claimed {row['now'] - row['expires']:.3f} s after its TTL"


def cancelled_jobs_are_not_claimed(record: Record) -> Iterator[str]:
    """C12: once a cancel is acknowledged, no worker takes the job any more."""
    cancelled = {event["job"]: event["wall"] for event in record.events("cancelled")}
    for row in record.audit:
        if row["new"] == "executing" and row["wall"] > cancelled.get(row["job"], row["wall"]) + SLACK:
            yield f"job {row['job']} was claimed after its cancel was acknowledged"


def effects_come_with_their_commit(record: Record) -> Iterator[str]:
    """What a step wrote in its transaction is there once if it was committed, and not at all if not."""
    wanted = Counter((row["job"], row["old_n"]) for row in commits(record) if row["old_n"] % 2)
    found = Counter((row["job"], row["n"]) for row in record.effects)
    for job, n in (wanted | found) - (wanted & found):
        yield f"step {n} of job {job} was committed {wanted[job, n]} times and wrote {found[job, n]} rows"


def families_are_complete(record: Record) -> Iterator[str]:
    """A parent that ended gathered the end of each of its children once, and there are no others."""
    of: dict[int, list[Any]] = defaultdict(list)
    for job in record.jobs:
        if job["reply_to"] is not None:
            of[job["reply_to"]].append(job["output"])
    for job in _done(record, "family"):
        if len(of[job["id"]]) != record.children or job["output"] != sorted(of[job["id"]], key=str):
            yield f"family {job['id']} gathered {job['output']} of {of[job['id']]}"


def _done(record: Record, action: str) -> Iterable[Row]:
    return (job for job in record.jobs if job["action"] == action and job["status"] == "done")
