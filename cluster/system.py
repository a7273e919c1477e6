"""The whole system under a steady load: the database, the ways to it, workers, the service and clients.

There are two ways to the database, and a worker and a client on each: `front` leads through PgBouncer and HAProxy,
`hosts` is a URL that names every node.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import asyncpg
from chaos import audit
from chaos.journal import Journal
from chaos.record import TERMINAL, Record

from cluster.database import Database
from cluster.front import Front
from cluster.hosts import Host, Network
from cluster.probe import Probe
from cluster.program import PAUSE, declare_heartbeat
from cluster.requirements import faketime
from kairos import SyncKairos

WAYS = ("front", "hosts")
SERVICE = 8765
_LIVE = "select count(*) from kairos.gen_durable where status::text <> all ($1::text[])"


class System:
    """A context manager that starts the system, and at its end stops it and, unless `keep`, removes its folder."""

    def __init__(
        self, *, etcds: int = 1, synchronous: bool = True, rate: float = 6.0, keep: bool = False
    ) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(
            tempfile.mkdtemp(prefix="kairos-cluster-", dir=memory if memory.is_dir() else None)
        )
        self.folder.chmod(0o755)
        self._rate = rate
        self._keep = keep
        self._heartbeats = 0
        self.network = Network(self.folder)
        self.operator = self.network.add("operator")
        self.database = Database(self.network, self.operator, etcds=etcds, synchronous=synchronous)
        self.front = Front(self.network, self.database)
        self.worker_hosts = {way: self.network.add(f"worker-{way}") for way in WAYS}
        self._service_host = self.network.add("service")
        self._client_host = self.network.add("client")
        self.workers: dict[str, list[int]] = {
            way: [] for way in WAYS
        }  # every process there ever was, newest last
        self.journal = Journal(self.folder / "journal")
        self.probe = Probe(self.database)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        self.database.start()
        self.front.start()
        self.operator.call(lambda: SyncKairos(self.database.hosts_url).migrate())
        self.on_primary(audit.install)
        self.probe.start()
        for way in WAYS:
            self.start_worker(way, wait=False)
        url = {
            "folder": str(self.folder),
            "url": self.front.pooled_url,
            "connecting": self._connecting("front"),
        }
        self._run(self._service_host, "serve", **url, port=SERVICE)
        until(lambda: self.journal.events("serving"), "the service does not listen")
        service = f"http://127.0.0.1:{SERVICE}"
        asking: dict[str, Any] = {"folder": str(self.folder), "rate": self._rate}
        self._run(self._service_host, "ask", **asking, name="front", service=service)
        self._run(self._client_host, "ask", **asking, name="hosts", url=self.database.hosts_url)
        self.wait_for_work()  # by every way

    def stop(self) -> None:
        self.probe.stop()
        self.network.close()
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Workers and clients

    def start_worker(self, way: str, *, ahead: int = 0, wait: bool = True) -> None:
        """Start a worker, whose clock may be some seconds ahead of the others'."""
        url = self.front.pooled_url if way == "front" else self.database.hosts_url
        env = {}
        if ahead:
            env = {
                "LD_PRELOAD": str(faketime()),
                "FAKETIME": f"{ahead:+d}",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        arguments = {
            "folder": str(self.folder),
            "url": url,
            "connecting": self._connecting(way),
            "queue": way,
        }
        pid = self._run(self.worker_hosts[way], "work", env=env, **arguments).pid
        self.workers[way].append(pid)
        if wait:
            until(lambda: self.journal.events("ready", pid=pid), f"the worker of {way} does not start")

    def replace_worker(self, way: str, *, ahead: int = 0) -> None:
        """Start another worker on the same host, and stop the old one once the other is ready."""
        old = self.workers[way][-1]
        self.start_worker(way, ahead=ahead)
        os.kill(old, signal.SIGTERM)
        until(lambda: old not in self.worker_hosts[way].living(), f"the worker of {way} does not stop")

    def wait_for_work(self, since: float | None = None) -> None:
        """Wait until every worker and every client has got something done after a moment (monotonic)."""
        moment = time.monotonic() if since is None else since

        def worked() -> bool:
            events = [event for event in self.journal.read() if event["t"] > moment]
            ended = {event["pid"] for event in events if event["e"] == "end"}
            answered = {event["client"] for event in events if event["e"] == "ack"}
            return all(self.workers[way][-1] in ended and way in answered for way in WAYS)

        until(worked, "work did not go on by every way")

    def drain(self) -> bool:
        """Pause the clients and wait until all requested jobs have ended; return False if they do not."""
        (self.folder / PAUSE).touch()

        def is_drained() -> bool:
            requested = {event["token"] for event in self.journal.events("ask")}
            answered = {event["token"] for event in self.journal.read() if event["e"] in ("ack", "info")}
            return (
                requested == answered
                and self.on_primary(lambda connection: connection.fetchval(_LIVE, list(TERMINAL))) == 0
            )

        try:
            until(is_drained, "not all jobs ended", 90)
        except TimeoutError:
            return False
        return True

    def go_on(self) -> None:
        (self.folder / PAUSE).unlink(missing_ok=True)
        for way in WAYS:
            self._enqueue_heartbeat(way)
        self.wait_for_work()

    def _enqueue_heartbeat(self, way: str) -> None:
        self._heartbeats += 1
        token = f"heartbeat-{self._heartbeats}"

        def enqueue() -> int:
            with SyncKairos(self.database.hosts_url) as app:
                declare_heartbeat(app)
                return app.action("heartbeat").options(queue=way, tags=[token]).enqueue(n=0).id

        self.journal.write("ask", token=token)
        self.journal.write(
            "ack",
            job=self.operator.call(enqueue),
            token=token,
            action="heartbeat",
            key=None,
            client="operator",
        )

    def record(self, *, drained: bool) -> Record:
        """Return the record for the checker, with the times of the machine's clock: those of processes may differ."""
        found = self.on_primary(lambda connection: audit.read(connection, self.journal, drained=drained))
        offset = time.time() - time.monotonic()
        record: Record = found
        record.journal = [{**event, "wall": event["t"] + offset} for event in record.journal]
        return record

    def on_primary(self, work: Callable[[asyncpg.Connection], Any]) -> Any:
        """Run an async function of a connection to the primary, once there is one."""

        async def run() -> Any:
            connection = await asyncpg.connect(
                self.database.hosts_url, target_session_attrs="primary", timeout=5
            )
            try:
                return await work(connection)
            finally:
                await connection.close(timeout=5)

        deadline = time.monotonic() + 60
        while True:
            try:
                return self.operator.call(lambda: asyncio.run(run()))
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _connecting(self, way: str) -> dict[str, Any]:
        return {"prepare": False, "direct_url": self.front.direct_url} if way == "front" else {}

    def _run(
        self, host: Host, role: str, *, env: dict[str, str] | None = None, **arguments: Any
    ) -> subprocess.Popen[bytes]:
        return host.start(role, sys.executable, "-m", "cluster.program", role, json.dumps(arguments), env=env)


def until(is_so: Callable[[], Any], otherwise: str, seconds: float = 90) -> None:
    """Wait for a state; after the deadline raise `TimeoutError` with `otherwise`."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{otherwise} within {seconds:.0f} s")
        time.sleep(0.1)
