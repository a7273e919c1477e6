"""C6, C7: signals are taken once, replies are complete, and a tick of a schedule is one job or one reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from chaos.record import TERMINAL, Record


def letters_arrive_once(record: Record) -> Iterator[str]:
    """C6: each letter that was acknowledged is in the output of its job once; none is in any twice."""
    sent: dict[int, set[int]] = defaultdict(set)
    for event in record.events("sent"):
        sent[event["job"]].add(event["number"])
    for job in record.jobs:
        if job["action"] != "inbox":
            continue
        output = job["output"] or []
        for number, times in Counter(output).items():
            if times > 1:
                yield f"letter {number} to job {job['id']} was taken {times} times"
        if job["status"] == "done" and len(output) < len(sent[job["id"]]):
            yield f"letters {sorted(sent[job['id']] - set(output))} to job {job['id']} were lost"


def nobody_waits_for_what_is_there(record: Record) -> Iterator[str]:
    """C6: no job waits for a signal that lies in its inbox."""
    waiting = {job["id"]: job["awaits"] for job in record.jobs if job["status"] == "awaiting_signal"}
    for signal in record.signals:
        if not signal["consumed"] and signal["name"] in (waiting.get(signal["job"]) or ()):
            yield f"job {signal['job']} waits for {signal['name']}, which is in its inbox"


def families_are_complete(record: Record) -> Iterator[str]:
    """C6: a parent that ended gathered the end of each of its children once, and there are no others."""
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
    """C7: every tick that was due is decided once: by one job, or by the reason why there is none.

    Which ticks were due is counted from the journal: the harness told the first one, the period and the last moment.
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
            yield f"the job of the tick {tick} of {schedule} is not there"
    for event in record.events("schedule"):
        ticks = [tick for name, tick in decided if name == event["name"]]
        period = event["period"] * 1_000_000
        for due in range(event["first"], event["until"], period):
            if due not in ticks:
                yield f"nothing was decided on the tick {due} of {event['name']}"
    yield from (
        f"the job {job['id']} of {job['schedule']} is {job['status']}"
        for job in record.jobs
        if job["schedule"] is not None and job["status"] not in TERMINAL and record.drained
    )
