"""The faults: each is a function that injects it into a system, and returns a function that undoes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from cluster.requirements import faketime
from cluster.system import System, until

Undo = Callable[[], None]
_MINUTES = 5


def primary_killed(system: System) -> Undo:
    """Postgres and Patroni of the primary are killed; the node stays away until a standby has taken over."""
    node = system.database.leader()
    assert node is not None
    node.kill()
    until(lambda: system.database.leader() not in (None, node), "no standby took over")
    return lambda: system.database.start_node(node)


def primary_partitioned(system: System) -> Undo:
    """Every packet from and to the primary is dropped."""
    node = system.database.leader()
    assert node is not None
    node.cut_off()
    until(lambda: system.database.leader() is not None, "no standby took over")
    return node.reconnect


def switchover(system: System) -> Undo:
    """Patroni is asked to make the synchronous standby the primary."""
    node = system.database.leader()
    system.database.switch_over()
    until(lambda: system.database.leader() not in (None, node), "the primary did not change")
    return _nothing


def standby_lost(system: System) -> Undo:
    """Every packet of the synchronous standby is dropped: commits wait until Patroni has chosen another."""
    node = system.database.synchronous_standby()
    assert node is not None
    node.cut_off()
    until(lambda: system.database.synchronous_standby() is not None, "no other standby became synchronous")
    return node.reconnect


def etcd_without_quorum(system: System) -> Undo:
    """Two of three etcd nodes are cut off for 15 s: Patroni demotes the primary until they are back."""
    lost = system.database.etcds[1:]
    for etcd in lost:
        etcd.cut_off()
    time.sleep(15)
    for etcd in lost:
        etcd.reconnect()
    until(lambda: system.database.leader() is not None, "there is no primary again")
    return _nothing


def proxy_restarted(system: System) -> Undo:
    """HAProxy is killed and started again."""
    system.front.restart_proxy()
    return _nothing


def worker_cut_off(system: System) -> Undo:
    """Every packet of one worker's host is dropped for two leases: others do its work."""
    host = system.worker_hosts["hosts"]
    host.cut_off()
    time.sleep(20)
    host.reconnect()
    return _nothing


def clocks_apart(system: System) -> Undo:
    """The clock of one worker is five minutes ahead of Postgres's, that of the other five minutes behind.

    Workers with such clocks replace those that there are, as in a deployment.
    """
    for way, sign in (("front", 1), ("hosts", -1)):
        system.replace_worker(way, ahead=sign * _MINUTES * 60)
    time.sleep(5)

    def undo() -> None:
        for way in system.workers:
            system.replace_worker(way)

    return undo


def _nothing() -> None:
    """Do nothing: the fault has undone itself."""


@dataclass(frozen=True)
class Fault:
    """`title` is its row in the table; `etcds` is how many etcd nodes it needs."""

    title: str
    inject: Callable[[System], Undo]
    etcds: int = 1

    @property
    def impossible(self) -> str | None:
        """Return why it cannot be tried here."""
        return (
            "not installed: faketime (a Debian package)"
            if self.inject is clocks_apart and not faketime()
            else None
        )


FAULTS = {
    fault.inject.__name__: fault
    for fault in (
        Fault("Primary killed", primary_killed),
        Fault("Primary partitioned: its packets are dropped", primary_partitioned),
        Fault("Switchover asked for", switchover),
        Fault("Synchronous standby lost: its packets are dropped", standby_lost),
        Fault("etcd without a quorum for 15 s", etcd_without_quorum, etcds=3),
        Fault("HAProxy killed and started again", proxy_restarted),
        Fault("A worker's host cut off for 20 s", worker_cut_off),
        Fault("Clocks of workers 5 minutes ahead and behind", clocks_apart),
    )
}
