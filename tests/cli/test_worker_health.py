"""`kairos worker --health`: what an orchestrator's probes are told."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from pathlib import Path

import httpx2
from tests.cli.terminal import Process, Terminal, until


def test_a_worker_answers_probes_and_refuses_everything_else(
    start: Callable[..., Process], shop: Path, database: str
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    worker = start("worker", shop, "--health", address, KAIROS_DATABASE_URL=database)
    worker.says("worker started")
    for path, status in {"/healthz": 200, "/readyz": 200, "/metrics": 404, "/": 404}.items():
        assert httpx2.get(f"http://{address}{path}").status_code == status
    assert httpx2.post(f"http://{address}/healthz").status_code == 404
    with socket.create_connection(tuple(address.split(":"))) as rude:  # type: ignore[arg-type]
        rude.sendall(b"x" * 10_000)
    assert httpx2.get(f"http://{address}/healthz").status_code == 200
    worker.signal(signal.SIGTERM)
    assert worker.end() == 0
    until(lambda: refused(address), "the port is free again")


def test_a_worker_of_several_processes_has_no_health_endpoint(kairos: Terminal, shop: Path) -> None:
    refusal = kairos("worker", shop, "--processes", "2", "--health", "127.0.0.1:0")
    assert (refusal.code, "--health answers for one process" in refusal.err) == (64, True)


def refused(address: str) -> bool:
    try:
        httpx2.get(f"http://{address}/healthz")
    except httpx2.HTTPError:
        return True
    return False
