"""Real clusters of several processes on this machine; where their packages are missing, the tests skip."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clusters import cluster_steps
from tests.data_directories import temporary_directory

from kairos import Kairos
from kairos.extras import EXTRAS

PATIENCE = 90.0


def require_client(kind: str) -> None:
    if any(importlib.util.find_spec(package) is None for package in EXTRAS[kind]):
        pytest.skip(f"{kind} is not installed: pip install -e '.[{kind}]'")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LocalCluster:
    """A cluster of real processes, which can be started again at the same address.

    With `apart` the steps run on a node of their own, which can be lost without the rest.
    """

    def __init__(self, kind: str, port: int | None = None, *, apart: bool = False) -> None:
        self.kind = kind
        self.apart = apart
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}" if kind == "ray" else f"tcp://127.0.0.1:{self.port}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> LocalCluster:
        self._folder = temporary_directory("kr-")
        self._run(self._head())
        self._await_port()
        if self.apart or self.kind == "dask":
            self.add_node()
        return self

    def add_node(self) -> None:
        self._run(self._node())

    def lose_node(self) -> None:
        """Kill the node that was added last, with every process on it."""
        self._kill([self._processes.pop()])

    def stop(self) -> None:
        """End every process that was started, and those that they started, by their ids."""
        self._kill(self._processes)
        self._processes.clear()

    def _run(self, command: list[str]) -> None:
        ours = ("KAIROS_", "COVERAGE_")  # the many processes of a cluster are not measured
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        environment |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
        environment |= {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false"}
        self._processes.append(
            subprocess.Popen(
                [sys.executable, "-m", *command],
                env=environment,
                cwd=self._folder,
                stdout=subprocess.DEVNULL,
                stderr=(self._folder / "stderr.txt").open("ab"),
            )
        )

    def _kill(self, processes: list[subprocess.Popen[bytes]]) -> None:
        own = [pid for process in processes for pid in (process.pid, *descendants(process.pid))]
        for pid in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.wait()

    def _head(self) -> list[str]:
        if self.kind == "dask":
            here = [f"--port={self.port}", "--host=127.0.0.1", "--no-dashboard", "--no-show"]
            return ["distributed.cli.dask_scheduler", *here]
        head = ["--head", f"--port={self.port}", f"--num-cpus={0 if self.apart else 4}", "--block"]
        head += [f"--temp-dir={self._folder}", f"--ray-client-server-port={free_port()}"]
        head += ["--node-ip-address=127.0.0.1", "--object-store-memory=100000000", "--disable-usage-stats"]
        return ["ray.scripts.scripts", "start", *head, "--include-dashboard=false"]

    def _node(self) -> list[str]:
        if self.kind == "dask":
            worker = [self.address, "--nworkers=2", "--nthreads=4", "--no-dashboard", "--host=127.0.0.1"]
            return ["distributed.cli.dask_worker", *worker, f"--local-directory={self._folder}"]
        node = [f"--address={self.address}", "--num-cpus=4", "--block", "--node-ip-address=127.0.0.2"]
        return ["ray.scripts.scripts", "start", *node, "--object-store-memory=100000000"]

    def _await_port(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self._processes[-1].poll() is None, (self._folder / "stderr.txt").read_text()[-2000:]
            time.sleep(0.05)
        raise AssertionError(
            f"{self.kind} did not start: {(self._folder / 'stderr.txt').read_text()[-2000:]}"
        )


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found, new = [], [pid]
    while new:
        found += (new := [child for each in new for child in parents.get(each, [])])
    return found


@pytest.fixture(autouse=True)
def without_authentication(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would make a token in the home folder."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


@pytest.fixture(scope="module", params=cluster_steps.KINDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """A cluster that the tests of a module share: they may kill processes of it, but not all of it."""
    require_client(request.param)
    cluster = LocalCluster(request.param)
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def app_on(database: str, cluster: LocalCluster) -> Kairos:
    """The app of the steps; the other kind of cluster has an address where nobody is."""
    addresses = {f"{kind}_address": "127.0.0.1:9" for kind in cluster_steps.KINDS}
    app = Kairos(database, **addresses | {f"{cluster.kind}_address": cluster.address})
    app.registry = cluster_steps.app.registry
    return app


@pytest.fixture
def app(database: str, cluster: LocalCluster) -> Kairos:
    """The app of the steps, on this test's database."""
    return app_on(database, cluster)


@pytest.fixture
def action(cluster: LocalCluster) -> Any:
    """The action of a function for the cluster of this test."""
    return lambda name: getattr(cluster_steps, f"{name}_{cluster.kind}")
