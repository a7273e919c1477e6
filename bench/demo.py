"""The uptime of a demo: two services and two workers under load, restarted while callers and probes go on.

    python -m bench.demo --minutes 10

During the run a worker is killed, then the workers and at last the services are restarted one after the other.
A caller asks the services in turns, and goes to the other one when a connection is refused or cut, as a proxy does; a
request counts as failed if none answered it within five seconds with a status below 500. The uptime is the share of the
requests that were answered, not a share of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import httpx2
import psycopg

from bench.database import Databases
from bench.processes import ROOT
from bench.run_size import percentile

_MACHINES = "bench/worker_actions.py:app"
_LIMIT = 5.0  # seconds that a caller waits in all
_PROBES = 10  # a second: of the services together, and of each alone
_COUNTS = "select status::text, count(*) from kairos.gen_durable group by status"


class Program:
    """One `kairos` process with a port that answers probes; it can be ended and started again."""

    def __init__(self, url: str, *command: str, port: int) -> None:
        self._url, self._command, self.port = url, command, port

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kairos.cli", *self._command, "--log-level", "error"),
            cwd=ROOT,
            env=os.environ | {"KAIROS_DATABASE_URL": self._url},
        )
        async with httpx2.AsyncClient() as client:
            while not await answers(client, self.port):
                if self.process.returncode is not None:
                    raise RuntimeError(f"kairos {' '.join(self._command)} ended before it was ready")
                await asyncio.sleep(0.1)

    async def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(by)
        await self.process.wait()

    async def restart(self, by: signal.Signals = signal.SIGTERM) -> None:
        await self.end(by)
        await self.start()


async def answers(client: httpx2.AsyncClient, port: int) -> bool:
    try:
        return (await client.get(f"http://127.0.0.1:{port}/readyz", timeout=_LIMIT)).is_success
    except httpx2.TransportError:
        return False


@dataclass
class Tally:
    """The results of the requests of one kind."""

    waits: list[float] = field(default_factory=list)  # milliseconds of those that were answered
    failed: int = 0
    longest: float = 0.0  # seconds without a good answer
    _last_good: float = field(default_factory=time.monotonic)

    def note(self, began: float, good: bool) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._last_good)
        if good:
            self.waits.append(1000 * (now - began))
            self._last_good = now
        else:
            self.failed += 1

    def figures(self) -> dict[str, Any]:
        asked = len(self.waits) + self.failed
        return {
            "asked": asked,
            "failed": self.failed,
            "answered %": round(100 * len(self.waits) / asked, 3),
            "longest without an answer s": round(self.longest, 2),
            **{
                f"p{100 * share:.0f} ms": round(percentile(self.waits, share), 1)
                for share in (0.5, 0.95, 0.99)
            },
        }


class Callers:
    """Send requests to the services in turns; one of them may be away."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._client = httpx2.AsyncClient(timeout=_LIMIT)
        self.accepted = 0

    async def post(self, turn: int, tally: Tally) -> None:
        headers = {"Idempotency-Key": f"demo-{turn}"}  # a repeated request makes no second job
        body = {"action": "noop", "input": {"n": turn}}
        accepted = await self._ask(turn, tally, "POST", "/api/jobs", json=body, headers=headers)
        self.accepted += (
            accepted  # not in one statement with the await: other tasks change the count meanwhile
        )

    async def probe(self, turn: int, tally: Tally) -> None:
        await self._ask(turn, tally, "GET", "/readyz")

    async def probe_alone(self, port: int, tally: Tally) -> None:
        began = time.monotonic()
        tally.note(began, await answers(self._client, port))

    async def _ask(self, turn: int, tally: Tally, method: str, path: str, **request: Any) -> bool:
        began, tries = time.monotonic(), 0
        while time.monotonic() - began < _LIMIT:
            port = self._ports[(turn + tries) % len(self._ports)]
            tries += 1
            try:
                answer = await self._client.request(method, f"http://127.0.0.1:{port}{path}", **request)
            except httpx2.TransportError:
                continue
            if answer.status_code >= 500:
                continue
            answer.raise_for_status()
            tally.note(began, good=True)
            return True
        tally.note(began, good=False)
        return False

    async def close(self) -> None:
        await self._client.aclose()


async def steadily(rate: float, ends_at: float, ask: Any) -> None:
    """Send requests at a steady rate without waiting for their answers, which would hide a stall."""
    began, turn = time.monotonic(), 0
    async with asyncio.TaskGroup() as asked:
        while (due := began + turn / rate) < ends_at:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            asked.create_task(ask(turn))
            turn += 1


async def restarts(services: list[Program], workers: list[Program], seconds: float) -> None:
    """Kill a worker, then restart the workers and the services, in the second to the fourth quarter of the run."""
    steps: list[Coroutine[Any, Any, None]] = [
        workers[0].restart(by=signal.SIGKILL),
        one_after_the_other(workers),
        one_after_the_other(services),
    ]
    for step in steps:
        await asyncio.sleep(seconds / 4)
        await step


async def one_after_the_other(programs: list[Program]) -> None:
    for program in programs:
        await program.restart()


async def run(url: str, seconds: float, rate: float) -> dict[str, Any]:
    services = [
        Program(url, "serve", _MACHINES, "--port", str(port), port=port)
        for port in (free_port(), free_port())
    ]
    workers = [
        Program(url, "worker", _MACHINES, "--health", f"127.0.0.1:{port}", port=port)
        for port in (free_port(), free_port())
    ]
    programs = [*services, *workers]
    callers = Callers([service.port for service in services])
    try:
        for program in programs:
            await program.start()
        whole, alone, posts = Tally(), [Tally() for _ in services], Tally()
        ends_at = time.monotonic() + seconds
        async with asyncio.TaskGroup() as running:
            running.create_task(restarts(services, workers, seconds))
            running.create_task(steadily(rate, ends_at, lambda turn: callers.post(turn, posts)))
            running.create_task(steadily(_PROBES, ends_at, lambda turn: callers.probe(turn, whole)))
            for service, tally in zip(services, alone, strict=True):
                probe = steadily(
                    _PROBES, ends_at, lambda _, s=service, t=tally: callers.probe_alone(s.port, t)
                )
                running.create_task(probe)
        ended = await wait_until_ended(url, callers.accepted)
    finally:
        await callers.close()
        for program in programs:
            if getattr(program, "process", None) is not None and program.process.returncode is None:
                await program.end()
    return {
        "probes": whole.figures(),
        "POST /api/jobs": posts.figures(),
        "each service alone": [tally.figures() for tally in alone],
        "jobs": {"accepted": callers.accepted, "by status": ended},
    }


async def wait_until_ended(url: str, accepted: int, limit: float = 60.0) -> dict[str, int]:
    """Return the number of jobs by status once all that were accepted succeeded, or after the limit."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        deadline = time.monotonic() + limit
        while True:
            found: dict[str, int] = dict(await (await connection.execute(_COUNTS)).fetchall())
            if found.get("done", 0) >= accepted or time.monotonic() > deadline:
                return found
            await asyncio.sleep(0.5)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.demo", description="The uptime of a demo run.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=50.0, help="jobs a second over HTTP")
    chosen = parser.parse_args()
    load = [os.getloadavg()[0]]
    with Databases() as databases:
        figures = asyncio.run(run(databases.get().url, 60 * chosen.minutes, chosen.rate))
    load.append(os.getloadavg()[0])
    figures["machine"] = {
        "date": f"{date.today():%-d %B %Y}",
        "command": f"python -m bench.demo --minutes {chosen.minutes:g} --rate {chosen.rate:g}",
        "cores": os.cpu_count(),
        "load at the start and the end": [round(each, 1) for each in load],
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
