"""Three Postgres nodes under Patroni, and the etcd nodes by which they agree on a primary."""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from cluster.hosts import Host, Network
from cluster.requirements import postgres_programs, program
from kairos.embedded.account import choose_account

NODES = 3
POSTGRES, REST, ETCD, PEERS = 5432, 8008, 2379, 2380
DATABASE = "app"
# Patroni's smallest documented ttl is 20: a shorter one keeps failovers, and so the runs, short.
TIMES = {"ttl": 8, "loop_wait": 1, "retry_timeout": 3}
_PARAMETERS = {
    "max_connections": 200,
    "max_wal_size": "256MB",
    "wal_keep_size": "256MB",
    "wal_receiver_timeout": "3s",
    "wal_sender_timeout": "3s",
    "wal_log_hints": "on",
    "shared_buffers": "64MB",
}


class Database:
    """The nodes and their etcd. `operator` is the host from which they are administered."""

    def __init__(self, network: Network, operator: Host, *, etcds: int = 1, synchronous: bool = True) -> None:
        self.operator = operator
        self.etcds = [network.add(f"etcd{n + 1}") for n in range(etcds)]
        self.nodes = [network.add(f"pg{n + 1}") for n in range(NODES)]
        self._folder = network.folder
        self._synchronous = synchronous
        self._account = choose_account()

    @property
    def hosts_url(self) -> str:
        """The URL that names every node; a client that connects looks for the primary."""
        return f"postgresql://postgres@{','.join(node.address for node in self.nodes)}/{DATABASE}"

    def start(self) -> None:
        """Start everything, and make the database."""
        for etcd in self.etcds:
            self.start_etcd(etcd)
        for node in self.nodes:
            self._configure(node)
        # The first one makes the cluster; with all at once the two others would only wait.
        self.start_node(self.nodes[0])
        self._until(lambda: self.leader() is not None, "there is no primary")
        for node in self.nodes[1:]:
            self.start_node(node)
        self._until(self.is_healthy, "not every node follows the primary")
        self.execute(f"create database {DATABASE}", database="postgres")

    def start_etcd(self, etcd: Host) -> None:
        peers = ",".join(f"{each.name}=http://{each.address}:{PEERS}" for each in self.etcds)
        etcd.start(
            "etcd",
            program("etcd"),
            *("--name", etcd.name, "--data-dir", str(self._folder / etcd.name)),
            *("--listen-client-urls", f"http://{etcd.address}:{ETCD}"),
            *("--advertise-client-urls", f"http://{etcd.address}:{ETCD}"),
            *("--listen-peer-urls", f"http://{etcd.address}:{PEERS}"),
            *("--initial-advertise-peer-urls", f"http://{etcd.address}:{PEERS}"),
            *("--initial-cluster", peers, "--initial-cluster-state", "new"),
        )

    def start_node(self, node: Host) -> None:
        settings = self._folder / node.name / "patroni.json"
        node.start("patroni", *self._account.prefix, program("patroni"), str(settings))

    def configure(self, **changes: Any) -> None:
        """Change the settings that all nodes share."""
        self._ask("PATCH", self._some_node(), "/config", changes)

    def switch_over(self) -> None:
        """Ask Patroni to make the synchronous standby the primary."""
        leader, standby = self.leader(), self.synchronous_standby()
        assert leader is not None and standby is not None
        self._ask(
            "POST", leader, "/switchover", {"leader": leader.name, "candidate": standby.name}, timeout=60
        )

    # Its state

    def leader(self) -> Host | None:
        """Return the node that says it is the primary."""
        return next((node for node in self.nodes if self.is_primary(node)), None)

    def is_primary(self, node: Host) -> bool:
        return self._status(node, "/primary") == 200

    def synchronous_standby(self) -> Host | None:
        return next((node for node in self.nodes if self._status(node, "/synchronous") == 200), None)

    def is_healthy(self) -> bool:
        """Whether there is a primary, the others stream from it, and one of them is synchronous if one is to be."""
        leader = self.leader()
        if leader is None:
            return False
        rows = self._query(leader, "select sync_state from pg_stat_replication where state = 'streaming'")
        states = [state for (state,) in rows]
        return len(states) == NODES - 1 and (not self._synchronous or "sync" in states)

    def wait_until_healthy(self) -> None:
        self._until(self.is_healthy, "the cluster did not become healthy again")

    def url(self, node: Host, database: str = DATABASE) -> str:
        return f"postgresql://postgres@{node.address}:{POSTGRES}/{database}?connect_timeout=2"

    def execute(self, sql: str, database: str = DATABASE) -> None:
        """Run a statement on the primary."""
        leader = self.leader()
        assert leader is not None

        def run() -> None:
            with psycopg.connect(self.url(leader, database), autocommit=True) as connection:
                connection.execute(sql.encode())

        self.operator.call(run)

    def _query(self, node: Host, sql: str) -> list[tuple[Any, ...]]:
        def ask() -> list[tuple[Any, ...]]:
            with psycopg.connect(self.url(node, "postgres"), autocommit=True) as connection:
                return connection.execute(sql.encode()).fetchall()

        try:
            return self.operator.call(ask)
        except psycopg.Error:
            return []

    # Patroni

    def _some_node(self) -> Host:
        return next(node for node in self.nodes if self._status(node, "/liveness") is not None)

    def _status(self, node: Host, path: str) -> int | None:
        try:
            return self._ask("GET", node, path)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def _ask(self, method: str, node: Host, path: str, body: Any = None, timeout: float = 1) -> int:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://{node.address}:{REST}{path}",
            data,
            {"Content-Type": "application/json"},
            method=method,
        )

        def ask() -> int:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                answer.read()
                return int(answer.status)

        return self.operator.call(ask)

    def _until(self, is_so: Callable[[], bool], otherwise: str, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{otherwise}: see the logs in {self._folder}")
            time.sleep(0.2)

    def _configure(self, node: Host) -> None:
        place = self._folder / node.name
        place.mkdir()
        bin_dir = postgres_programs()
        assert bin_dir is not None
        everybody = "host {} all 10.99.0.0/24 trust"
        settings = {
            "scope": "kairos",
            "name": node.name,
            "restapi": {"listen": f"{node.address}:{REST}", "connect_address": f"{node.address}:{REST}"},
            "etcd3": {"hosts": [f"{etcd.address}:{ETCD}" for etcd in self.etcds]},
            "bootstrap": {
                "dcs": {
                    **TIMES,
                    "synchronous_mode": self._synchronous,
                    # Patroni promotes no standby that is further behind, in bytes: this bounds what can be lost.
                    "maximum_lag_on_failover": 1 << 26,
                    "postgresql": {"use_pg_rewind": True, "parameters": _PARAMETERS},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
            },
            "postgresql": {
                "listen": f"{node.address}:{POSTGRES}",
                "connect_address": f"{node.address}:{POSTGRES}",
                "data_dir": str(place / "data"),
                "bin_dir": str(bin_dir),
                "pgpass": str(place / "pgpass"),
                "authentication": {
                    "superuser": {"username": "postgres"},
                    "replication": {"username": "postgres"},
                },
                "parameters": {"unix_socket_directories": str(place)},
                "pg_hba": ["local all all trust", everybody.format("all"), everybody.format("replication")],
            },
        }
        (place / "patroni.json").write_text(json.dumps(settings, indent=2))
        _give(place, self._account.uid, self._account.gid)


def _give(folder: Path, uid: int, gid: int) -> None:
    shutil.chown(folder, uid, gid)
    for each in folder.iterdir():
        shutil.chown(each, uid, gid)
