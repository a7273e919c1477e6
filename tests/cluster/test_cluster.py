"""Three Postgres nodes under Patroni, behind HAProxy and PgBouncer: what was accepted survives the loss of a primary.

It needs root and Debian's packages, and skips with their names where they are missing. How long work stands still is
measured by `./kairos cluster` and no assertion here.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.faults import FAULTS
from cluster.hosts import Host, Network
from cluster.requirements import missing
from cluster.system import System, until
from cluster.trial import Trials, pause

WHY_NOT = missing()
on_a_cluster = pytest.mark.skipif(WHY_NOT is not None, reason=f"no cluster can be started: {WHY_NOT}")


@pytest.fixture(scope="module")
def trials() -> Iterator[Trials]:
    """One cluster for all faults: to start it takes as long as to break it."""
    with System() as system:
        yield Trials(system)


@on_a_cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", ["switchover", "primary_killed", "primary_partitioned"])
def test_nothing_accepted_is_lost_doubled_or_overlapped_when_the_primary_changes(
    trials: Trials, fault: str
) -> None:
    result = trials.run(FAULTS[fault])
    assert result.violations == []
    assert result.accepted > 0
    assert set(result.work) == set(result.accept) == {"front", "hosts"}


@on_a_cluster
def test_a_host_that_is_cut_off_hears_nothing_and_refuses_nothing_and_no_process_outlives_its_network(
    tmp_path: Path,
) -> None:
    network = Network(tmp_path)
    try:
        near, far = network.add("near"), network.add("far")
        far.start("server", sys.executable, "-m", "http.server", "8000")
        until(lambda: connects(near, far) is None, "the server does not listen")
        far.cut_off()
        assert isinstance(connects(near, far), TimeoutError)
        far.reconnect()
        assert connects(near, far) is None
        pids = far.processes()
    finally:
        network.close()
    assert pids
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def connects(near: Host, far: Host) -> OSError | None:
    """Why one host cannot connect to the other."""
    try:
        near.call(lambda: socket.create_connection((far.address, 8000), timeout=3).close())
    except OSError as error:
        return error
    return None


def test_a_pause_is_the_longest_time_between_two_successes_that_is_not_over_before_the_fault() -> None:
    moments = [0.0, 5.0, 5.1, 5.2, 8.2, 8.3]
    assert pause(moments, began=5.15, over=8.4) == pytest.approx(3.0)
    assert pause(moments, began=8.25, over=9.3) == pytest.approx(1.0)
    assert pause([], began=1.0, over=2.0) == 0.0
