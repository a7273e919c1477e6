"""Measure how many acknowledged jobs a failover to an asynchronous standby loses: a limit of Postgres itself."""

from __future__ import annotations

import time
from dataclasses import dataclass

from cluster.database import POSTGRES
from cluster.faults import primary_killed
from cluster.system import System


@dataclass(frozen=True)
class Loss:
    """`acknowledged` counts the jobs of the seconds before the failover, `lost` those that are missing after it."""

    title: str
    acknowledged: int
    lost: int


def measure(system: System, *, behind: float) -> Loss:
    """Kill the primary while its standbys are `behind` seconds behind; count the acknowledged jobs that are lost."""
    system.database.wait_until_healthy()
    system.go_on()
    began = time.monotonic()
    time.sleep(3)
    primary = system.database.leader()
    assert primary is not None
    standbys = [node for node in system.database.nodes if node is not primary] if behind else []
    for node in standbys:
        node.lose_packets_of(primary, POSTGRES)  # replication alone: clients still reach the primary
    time.sleep(behind)
    killed = time.monotonic()
    undo = primary_killed(system)
    system.wait_for_work()
    for node in standbys:
        node.reconnect()
    undo()
    system.database.wait_until_healthy()
    record = system.record(drained=system.drain())
    there = {job["id"] for job in record.jobs}
    acknowledged = [event for event in record.events("ack") if event["t"] < killed]
    recent = [event for event in acknowledged if event["t"] >= began]
    title = f"primary killed, {behind:.0f} s behind" if behind else "primary killed"
    return Loss(title, len(recent), len([event for event in acknowledged if event["job"] not in there]))
