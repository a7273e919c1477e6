"""A reader of server-sent events over a plain socket, and a worker's hand that says what it is told."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from tests.engine_statements import Hand, call, done

from kairos import Kairos, operations
from kairos.worker.claim import Claim
from kairos.worker.log_writer import LogWriter

TIMEOUT = 120.0


class Event(NamedTuple):
    name: str
    id: str | None
    data: Any


class Ear:
    """One connection; `heartbeats` counts the signs of life between events."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._text = b""
        self.status = 0
        self.headers: dict[str, str] = {}
        self.heartbeats = 0

    @classmethod
    async def open(cls, port: int, path: str, buffer: int | None = None, **headers: str) -> Ear:
        line = socket.socket()
        if buffer is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", port))
        ear = cls(*await asyncio.open_connection(sock=line, limit=1 << 24))
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        ear.writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{more}\r\n".encode())
        return ear

    async def begin(self) -> Ear:
        """Read the head of the answer."""
        async with asyncio.timeout(TIMEOUT):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.status = int(head[0].split()[1])
        self.headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        return self

    async def event(self) -> Event | None:
        """The next event; None once the server has closed."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                while b"\n\n" not in self._text:
                    if not (chunk := await self._chunk()):
                        return None
                    self._text += chunk
                block, _, self._text = self._text.partition(b"\n\n")
                if (found := self._parse(block.decode())) is not None:
                    return found

    async def events(self, count: int, *, counts: bool = False) -> list[Event]:
        """So many events; those that only count jobs or name lists are left out unless asked for."""
        found: list[Event] = []
        while len(found) < count:
            each = await self.event()
            assert each is not None
            if counts or each.name not in ("counts", "lists"):
                found.append(each)
        return found

    async def rest(self) -> list[Event]:
        """Everything until the server closes."""
        found = []
        while (each := await self.event()) is not None:
            found.append(each)
        return found

    def close(self) -> None:
        self.writer.close()

    async def _chunk(self) -> bytes:
        try:
            size = int((await self._reader.readuntil(b"\r\n")).strip(), 16)
            return (await self._reader.readexactly(size + 2))[:-2]
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    def _parse(self, block: str) -> Event | None:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        if "event" not in fields:
            self.heartbeats += "" in {line.split(": ")[0] for line in block.split("\n")}
            return None
        return Event(fields["event"], fields.get("id"), json.loads(fields["data"]))


async def listen(port: int, path: str, **headers: str) -> Ear:
    """A reader whose stream has begun."""
    ear = await (await Ear.open(port, path, **headers)).begin()
    assert ear.status == 200, ear.status
    return ear


class Voice:
    """A job under the lease of a worker that does and says what it is told."""

    def __init__(self, app: Kairos, job: int, hand: Hand, queue: str) -> None:
        self.job = job
        self.hand = hand
        self._queue = queue
        self.claim: Claim
        self.log_writer = LogWriter(app.store, hand.name, timedelta(seconds=30))

    async def begin(self) -> None:
        self.claim = next(claim for claim in await self.hand.pick(self._queue) if claim.id == self.job)

    async def say(self, *lines: str, **more: Any) -> None:
        for line in lines:
            self.log_writer.add(
                self.job, self.claim.lease, "run", 0, "info", line, more.get("fields"), more.get("stream")
            )
        await self.log_writer.flush()

    async def end(self, result: str | None = None) -> None:
        await self.hand.commit(done(self.claim, result))


async def voice(
    app: Kairos, lines: Sequence[str] = (), *, begin: bool = True, queue: str = "default"
) -> Voice:
    """A job that runs, and has said these lines."""
    job = await app.run(operations.enqueue(call(queue=queue)))
    speaker = Voice(app, job.id, Hand(app.store, "w", [queue]), queue)
    if begin:
        await speaker.begin()
        await speaker.say(*lines)
    return speaker
