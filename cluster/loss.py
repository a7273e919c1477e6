"""What a failover to an asynchronous standby loses: the limit that Postgres has, and so Kairos."""

from __future__ import annotations

import time
from dataclasses import dataclass

from cluster.database import POSTGRES
from cluster.faults import primary_killed
from cluster.system import System


@dataclass(frozen=True)
class Loss:
    """`acknowledged` counts the jobs of the seconds before the failover, `lost` those of them that are not there."""

    title: str
    acknowledged: int
    lost: int


def measure(system: System, *, behind: float) -> Loss:
    """Kill the primary while its standbys are so many seconds behind; count acknowledged jobs that are not there."""
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
    record = system.record(drained=system.come_to_rest())
    there = {job["id"] for job in record.jobs}
    told = [event for event in record.events("ack") if event["t"] < killed]
    recent = [event for event in told if event["t"] >= began]
    title = f"primary killed, {behind:.0f} s behind" if behind else "primary killed"
    return Loss(title, len(recent), len([event for event in told if event["job"] not in there]))
