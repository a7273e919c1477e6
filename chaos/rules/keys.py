"""C5: the jobs of a key run one at a time, and begin in the order in which they were accepted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from chaos.record import Record
from chaos.rules.steps import SLACK, commits, runs


def a_key_runs_one_step_at_a_time(record: Record) -> Iterator[str]:
    """C5: the committed steps of a key never overlapped in time."""
    ran = runs(record)
    spans: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for row in commits(record):
        recorded = [
            (begin, end)
            for begin, end in ran.get((row["job"], row["old_lease"]), [])
            if end["wall"] <= row["wall"] + SLACK
        ]
        if row["key"] is not None and recorded:
            begin, end = max(recorded, key=lambda run: run[1]["wall"])
            spans[row["key"]].append((begin["t"], end["t"], row["job"]))
    for key, found in spans.items():
        for (_, over, first), (begun, _, second) in pairwise(sorted(found)):
            if begun < over:
                yield f"key {key}: jobs {first} and {second} ran at once"


def a_key_has_one_holder(record: Record) -> Iterator[str]:
    """C5c: in the order of the audit trail, no two jobs of a key are executing at once."""
    holder: dict[str, int] = {}
    for row in record.audit:
        if row["key"] is None:
            continue
        if row["new"] == "executing" and holder.setdefault(row["key"], row["job"]) != row["job"]:
            yield f"key {row['key']}: job {row['job']} was claimed while {holder[row['key']]} held it"
        elif row["old"] == "executing" and row["new"] != "executing":
            holder.pop(row["key"], None)


def a_key_runs_in_order(record: Record) -> Iterator[str]:
    """C5b: a job does not begin before one of the same key that was acknowledged before it was requested."""
    requested = {event["token"]: event["t"] for event in record.events("ask")}
    first: dict[int, int] = {}
    for row in record.audit:
        if row["key"] is not None and row["new"] == "executing":
            first.setdefault(row["job"], row["id"])
    lines: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for event in record.events("ack"):
        if event.get("key") is not None and event["job"] in first:
            lines[event["key"]].append((requested[event["token"]], event["t"], event["job"]))
    for key, line in lines.items():
        for (_, acknowledged, one), (wanted, _, other) in pairwise(sorted(line)):
            if acknowledged < wanted and first[one] > first[other]:
                yield f"key {key}: job {other} began before job {one}, which was accepted before it was requested"
