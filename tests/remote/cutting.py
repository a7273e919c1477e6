"""A TCP proxy in front of the service that breaks connections where it hurts."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self


class Cutter:
    """Passes everything on, until told otherwise.

    `hold_answers` passes no answer on and closes nothing. `cut_answers` lets so many requests reach the service and
    cuts instead of answering. `cut_after_bytes` cuts each answer once it is so long. `refuse` takes so many
    connections and closes them.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self.hold_answers = False
        self.cut_answers = 0
        self.cut_after_bytes: int | None = None
        self.refuse = 0
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Close everything that is open."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.refuse > 0:
            self.refuse -= 1
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        self._writers |= {writer, up_writer}
        try:
            await asyncio.wait(
                [
                    asyncio.create_task(self._up(reader, up_writer)),
                    asyncio.create_task(self._down(up_reader, writer)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            self._writers -= {writer, up_writer}
            self._tasks.discard(task)
            for each in (writer, up_writer):
                each.transport.abort()

    async def _up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passed = 0
        with suppress(OSError):
            while data := await reader.read(65536):
                if self.hold_answers:
                    continue
                if self.cut_answers > 0:
                    self.cut_answers -= 1
                    return  # it was done, and nobody knows
                limit = self.cut_after_bytes
                if limit is not None and passed + len(data) > limit:
                    writer.write(data[: limit - passed])
                    await writer.drain()
                    return
                passed += len(data)
                writer.write(data)
                await writer.drain()
