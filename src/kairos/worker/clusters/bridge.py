"""A child process of the worker that holds the client of one cluster: it submits steps and returns their answers.

Ray's client exits its process when the cluster is lost, and may hang while it connects: the worker must do neither.

    in:   {"run": token, "body": bytes}   {"stop": token}   {"drop": token}   {"taken": token}
    out:  {"up": address}   {"down": reason}   {"of": token, "batch" | "envelope" | "lost" | "unfit" | "stopped": …}
"""

from __future__ import annotations

import asyncio
import importlib
import os
import pickle
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import urlsplit

from kairos.worker.clusters.client import Client, Stopped, TaskLost, Unfit
from kairos.worker.pickle_pipe import framed, receive
from kairos.worker.settle import error_text
from kairos.worker.step_process import die_with_parent

_CONNECT_TIMEOUT = 5.0  # seconds for a connection to the address
_START_TIMEOUT = 60.0  # seconds for the start of the client after that
_CHECK_EVERY, _CHECK_TIMEOUT = 2.0, 10.0  # seconds
# How long to wait for lines that were sent before the answer but arrive after it, since the last that came: this many
# turns of this many seconds. Turns, because a pipe that is full may hold up this process for seconds.
LATE_TURNS, _TURN = 500, 0.01
# Seconds within which a cluster must answer a check after it lost a task.
_CHECK_TIMEOUT_AFTER_LOSS = 3.0


def main(kind: str, address: str) -> None:
    die_with_parent()
    # Clients of clusters print: neither that nor programs that they start may write into the pipes to the worker.
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    cluster = importlib.import_module(f"kairos.worker.clusters.on_{kind}").Cluster()
    asyncio.run(Bridge(cluster, requests, answers).serve(address))


class Bridge:
    """Serve requests until the worker closes the pipe or the cluster is lost."""

    def __init__(self, cluster: Client, requests: int, answers: int) -> None:
        self._cluster = cluster
        self._requests = os.fdopen(requests, "rb")
        self._answers = os.fdopen(answers, "wb")
        self._lock = threading.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._lines: dict[str, int] = {}  # by token: how many came

    async def serve(self, address: str) -> None:
        limit = threading.Timer(
            _CONNECT_TIMEOUT + _START_TIMEOUT, self._down, [f"it did not answer within {_START_TIMEOUT:g} s"]
        )
        limit.daemon = True
        limit.start()
        try:
            await _reach(address)
            self._write({"up": await self._cluster.connect(address, self._deliver)})
        except Exception as error:  # noqa: BLE001 (every error of the client is reported to the worker)
            self._down(error_text(error))
        limit.cancel()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, self._requests)
        checks = asyncio.create_task(self._check_repeatedly())
        with suppress(asyncio.IncompleteReadError):
            while True:
                self._handle(await receive(reader))
        checks.cancel()
        os._exit(0)  # the worker closed the pipe: the cluster learns of it by the end of this process

    def _handle(self, request: dict[str, Any]) -> None:
        if "run" in request:
            token = request["run"]
            self._tasks[token] = asyncio.create_task(self._run(token, request["body"]))
        elif "stop" in request:
            self._spawn(self._cluster.stop(request["stop"]))
        elif "taken" in request:
            self._spawn(self._cluster.taken(request["taken"]))
        elif request["drop"] in self._tasks:
            self._spawn(self._cluster.drop(request["drop"]))  # its answer is ignored

    def _spawn(self, what: Any) -> None:
        async def run() -> None:
            with suppress(Exception):  # the check notices a cluster that does not answer
                await what

        task = asyncio.create_task(run())
        self._tasks[f"ask-{id(task)}"] = task
        task.add_done_callback(lambda done: self._tasks.pop(f"ask-{id(done)}", None))

    async def _run(self, token: str, body: bytes) -> None:
        answer: dict[str, Any]
        try:
            envelope: dict[str, Any] = pickle.loads(await self._cluster.run(token, body))  # noqa: S301 (made by task.run)
            missing = await self._await_lines(token, envelope.get("sent", 0))
            answer = {"envelope": envelope, "missing": missing}
        except TaskLost as error:
            await self._check_after_loss()
            answer = {"lost": str(error)}
        except Unfit as error:
            answer = {"unfit": str(error)}
        except Stopped:
            answer = {"stopped": True}
        except Exception as error:  # noqa: BLE001 (our part on the node raises nothing: it was the cluster)
            await self._check_after_loss()
            answer = {"lost": error_text(error)}
        finally:
            self._tasks.pop(token, None)
            self._lines.pop(token, None)
        self._write({"of": token, **answer})

    async def _await_lines(self, token: str, sent: int) -> int:
        """Wait for lines that were sent before the answer, so that they are stored before the outcome.

        Return how many are missing.
        """
        came, turns = self._lines.get(token, 0), 0
        while came < sent and turns < LATE_TURNS:
            await asyncio.sleep(_TURN)
            before, came = came, self._lines.get(token, 0)
            turns = turns + 1 if came == before else 0
        return max(sent - came, 0)

    def _deliver(self, batch: bytes) -> None:
        message = pickle.loads(batch)  # noqa: S301 (made by task.Messages)
        if message["of"] in self._tasks:
            lines = sum(kind == "log" for kind, _ in message["batch"])
            self._lines[message["of"]] = self._lines.get(message["of"], 0) + lines
            self._write(message)

    async def _check_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            await self._check(_CHECK_TIMEOUT)

    async def _check_after_loss(self) -> None:
        """Check whether the cluster lost only a task, or is gone."""
        await self._check(_CHECK_TIMEOUT_AFTER_LOSS)

    async def _check(self, within: float) -> None:
        """Check the cluster; if it fails or does not answer within these seconds, report that, and end this process."""
        try:
            async with asyncio.timeout(within):
                await self._cluster.check()
        except TimeoutError:
            self._down(f"it has not answered for {within:g} s")
        except Exception as error:  # noqa: BLE001 (as above)
            self._down(error_text(error))

    def _write(self, message: dict[str, Any]) -> None:
        line = framed(pickle.dumps(message))
        with self._lock:
            self._answers.write(line)
            self._answers.flush()

    def _down(self, reason: str) -> NoReturn:
        """Tell the worker that the cluster is lost, and end."""
        with suppress(OSError):
            self._write({"down": reason.splitlines()[0]})
        os._exit(1)


async def _reach(address: str) -> None:
    """Check that the address accepts a connection: the clients themselves would wait for minutes."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in ("tcp", "tls", "ray") and parts.hostname and parts.port:
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except TimeoutError:
            raise ConnectionError(f"it did not answer within {_CONNECT_TIMEOUT:g} s") from None
        writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
