"""C6, C7: signals are taken once, replies are complete, and each tick has one job or a reason for none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from chaos.record import TERMINAL, Record


def signals_arrive_once(record: Record) -> Iterator[str]:
    """C6: each acknowledged signal is in the output of its job exactly once."""
    sent: dict[int, set[int]] = defaultdict(set)
    for event in record.events("sent"):
        sent[event["job"]].add(event["number"])
    for job in record.jobs:
        if job["action"] != "inbox":
            continue
        output = job["output"] or []
        for number, times in Counter(output).items():
            if times > 1:
                yield f"signal {number} to job {job['id']} was taken {times} times"
        if job["status"] == "done" and len(output) < len(sent[job["id"]]):
            yield f"signals {sorted(sent[job['id']] - set(output))} to job {job['id']} were lost"


def no_job_waits_for_a_delivered_signal(record: Record) -> Iterator[str]:
    """C6: no job awaits a signal that is in its inbox."""
    waiting = {job["id"]: job["awaits"] for job in record.jobs if job["status"] == "awaiting_signal"}
    for signal in record.signals:
        if not signal["consumed"] and signal["name"] in (waiting.get(signal["job"]) or ()):
            yield f"job {signal['job']} waits for {signal['name']}, which is in its inbox"


def parents_get_every_reply_once(record: Record) -> Iterator[str]:
    """C6: a parent that ended has the reply of each of its children once, and has no other children."""
    of: dict[int, list[Any]] = defaultdict(list)
    for job in record.jobs:
        if job["reply_to"] is not None:
            of[job["reply_to"]].append(job["output"])
    for job in record.jobs:
        if job["action"] == "family" and job["status"] == "done":
            children = of[job["id"]]
            if len(children) != record.children or job["output"] != sorted(children, key=str):
                yield f"family {job['id']} gathered {job['output']} of {children}"


def each_tick_makes_one_job(record: Record) -> Iterator[str]:
    """C7: every due tick has one job, or a recorded reason for none.

    The journal has the first tick, the period and the last moment of the schedule.
    """
    made: dict[tuple[str, int], int] = Counter(
        (job["schedule"], job["tick"]) for job in record.jobs if job["schedule"] is not None
    )
    decided = {(row["schedule"], row["tick"]): row["job"] for row in record.ticks}
    for (schedule, tick), times in made.items():
        if times > 1:
            yield f"the tick {tick} of {schedule} made {times} jobs"
        if (schedule, tick) not in decided:
            yield f"the tick {tick} of {schedule} made a job and is not recorded"
    ids = {job["id"]: job["status"] for job in record.jobs}
    for (schedule, tick), job in decided.items():
        if job is not None and job not in ids:
            yield f"the job of the tick {tick} of {schedule} does not exist"
    for event in record.events("schedule"):
        ticks = [tick for name, tick in decided if name == event["name"]]
        period = event["period"] * 1_000_000
        for due in range(event["first"], event["until"], period):
            if due not in ticks:
                yield f"there is neither a job nor a reason for the tick {due} of {event['name']}"
    yield from (
        f"the job {job['id']} of {job['schedule']} is {job['status']}"
        for job in record.jobs
        if job["schedule"] is not None and job["status"] not in TERMINAL and record.drained
    )
