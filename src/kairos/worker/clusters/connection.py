"""Run the process that is the client of one cluster, send it steps, and receive what they write and return."""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import sys
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from kairos.machine.context import Context, write_log
from kairos.worker.clusters.task import BATCH
from kairos.worker.pickle_pipe import framed, receive
from kairos.worker.process_pool import environment_without_passwords

Room = Callable[[int], Awaitable[None]]


class Connection:
    """One bridge process, and the steps that were sent through it."""

    def __init__(self, kind: str, address: str, room: Room | None = None) -> None:
        self._kind = kind
        self._address = address
        self._room = room
        self._taking: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, tuple[asyncio.Future[dict[str, Any]], Context[Any]]] = {}
        self._name = uuid.uuid4().hex  # processes of a cluster run steps of several workers
        self._tokens = itertools.count(1)
        self._reading: asyncio.Task[None] | None = None
        self.is_open = False

    async def open(self) -> None:
        """Start the process and wait until it is connected; raises ConnectionError with the reason."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kairos.worker.clusters.bridge", self._kind, self._address),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment_without_passwords(os.environ),
        )
        try:
            first = await self._read()
        except BaseException:
            await self.close()
            raise
        if first is None or "down" in first:
            code = await self._process.wait()
            raise ConnectionError(f"its client ended with code {code}" if first is None else first["down"])
        self.is_open = True
        self._reading = asyncio.create_task(self._receive())

    def submit(self, body: bytes, ctx: Context[Any]) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        """Send a step; return its token and the future of its answer."""
        token = f"{self._name}-{next(self._tokens)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[token] = answer, ctx
        self._write({"run": token, "body": body})
        return token, answer

    def stop(self, token: str) -> None:
        """Ask a step to stop; its answer is still awaited. Ray ends it at once."""
        self._write({"stop": token})

    def drop(self, token: str) -> None:
        """Ignore the answer of a step, and end it as far as the cluster can."""
        self._waiting.pop(token, None)
        self._write({"drop": token})

    async def close(self) -> None:
        self.is_open = False
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        if self._reading is not None:
            await self._reading

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        line = framed(pickle.dumps(message))
        with suppress(ConnectionError, RuntimeError):  # `_receive` notices the end of the process
            self._process.stdin.write(line)

    async def _receive(self) -> None:
        reason = "its client ended"
        while (message := await self._read()) is not None:
            if "down" in message:
                reason = message["down"]
                continue
            answer, ctx = self._waiting.get(message["of"], (None, None))
            if answer is None or ctx is None:
                continue  # the step was dropped
            if "batch" in message:
                for kind, values in message["batch"]:
                    apply_message(ctx, kind, values)
                if len(message["batch"]) >= BATCH:
                    taking = asyncio.create_task(self._take(message["of"], ctx))
                    self._taking.add(taking)
                    taking.add_done_callback(self._taking.discard)
                continue
            del self._waiting[message["of"]]
            answer.set_result(message)
        self.is_open = False
        waiting, self._waiting = self._waiting, {}
        for answer, _ in waiting.values():
            if not answer.done():
                answer.set_result({"down": reason})
        await self._process.wait()

    async def _take(self, token: str, ctx: Context[Any]) -> None:
        """Let a step send one more full batch once there is room for its lines."""
        if self._room is not None:
            await self._room(ctx.id)
        self._write({"taken": token})

    async def _read(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        try:
            return await receive(self._process.stdout)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


def apply_message(ctx: Context[Any], kind: str, values: tuple[Any, ...]) -> None:
    """Repeat on the worker's context one call that the step made on its own context, on the cluster."""
    if kind == "progress":
        ctx.progress(*values)
    elif kind == "log":
        write_log(ctx, *values)
