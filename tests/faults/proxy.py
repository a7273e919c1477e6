"""A TCP proxy in front of Postgres that understands just enough of its protocol to break it where it hurts."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit

Wanted = Callable[[str], bool]
_LENGTH = struct.Struct("!I")


class Proxy:
    """Each connection is passed on until it is told otherwise.

    `cut()` closes what is open. `blackhole` swallows both directions and closes nothing, as a lost network does;
    `mute()` does so to the connections that are open now.
    `cut_after(wanted, times)` lets a statement reach the server and be committed, and closes the connection
    instead of passing the answer on; `drop_answer(wanted)` leaves the connection open, and nothing passes any more.
    `deaf` drops notifications. `hang_on(wanted)` lets a connection that sends such a statement hang from then on: it
    stays open, and nothing passes.
    """

    def __init__(self, url: str) -> None:
        self.lead_to(url)
        parts = urlsplit(url)
        self._database = parts.path
        self._user = parts.username
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.blackhole = False
        self.deaf = False
        self.refuse = False
        self.refused = 0
        self.aim: list[Wanted] = []
        self.hung: list[Wanted] = []
        self.unanswered: list[Wanted] = []
        self.hits = 0
        self.dropped = 0

    def lead_to(self, url: str) -> None:
        """The server that new connections reach."""
        self._socket = _socket_of(url)

    def leads_to(self, url: str) -> bool:
        return self._socket == _socket_of(url)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._links)

    @property
    def port(self) -> int:
        return int(self._port)

    @property
    def url(self) -> str:
        return f"postgresql://{self._user}@127.0.0.1:{self._port}{self._database}?sslmode=disable"

    def cut(self) -> None:
        for link in list(self._links):
            link.close()

    def mute(self) -> None:
        for link in self._links:
            link.muted = True

    def cut_after(self, wanted: Wanted, times: int = 1) -> None:
        self.aim += [wanted] * times

    def drop_answer(self, wanted: Wanted) -> None:
        self.unanswered.append(wanted)

    def hang_on(self, wanted: Wanted) -> None:
        self.hung.append(wanted)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuse:
            self.refused += 1
            writer.close()
            return
        try:
            upstream = await asyncio.open_unix_connection(self._socket)
        except OSError:  # the server is down
            writer.close()
            return
        link = _Link(self, (reader, writer), upstream)
        self._links.add(link)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await link.run()
        finally:
            self._links.discard(link)
            self._tasks.discard(task)


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One connection: messages are read whole in both directions, looked at and passed on."""

    def __init__(self, proxy: Proxy, client: Stream, server: Stream) -> None:
        self._proxy = proxy
        self._client, self._server = client, server
        self.muted = False
        self._statements: dict[bytes, str] = {}
        self._in_transaction = False
        self._doomed = False  # the answer to the commit of this transaction will not be passed on
        self._silent = False  # nor is anything else any more, once that commit is under way
        self._stays = False  # open, though that answer was dropped
        self._hangs = False

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._up()), asyncio.create_task(self._down())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def is_swallowed(self) -> bool:
        return self.muted or self._proxy.blackhole

    def close(self) -> None:
        for _, writer in (self._client, self._server):
            with suppress(OSError, RuntimeError):
                writer.transport.abort()

    async def _up(self) -> None:
        reader, writer = self._client[0], self._server[1]
        startup = await _startup(reader)
        if not self.is_swallowed:
            writer.write(startup)
        messages = _Messages(reader)
        while True:
            passed = []
            for kind, body in await messages.read():
                self._look(self._statement(kind, body))
                if not self.is_swallowed and not self._hangs:
                    passed.append(_framed(kind, body))
            await _write(writer, passed)

    async def _down(self) -> None:
        reader, writer = self._server[0], self._client[1]
        messages = _Messages(reader)
        while True:
            passed = []
            for kind, body in await messages.read():
                if kind == b"Z":  # ready for the next statement
                    self._in_transaction = body != b"I"
                    if self._silent and not self._stays:
                        await _write(writer, passed)
                        return  # committed, and nobody knows
                    self.muted |= self._silent
                if kind == b"A" and self._proxy.deaf:
                    self._proxy.dropped += 1
                elif not self._silent and not self.is_swallowed and not self._hangs:
                    passed.append(_framed(kind, body))
            await _write(writer, passed)

    def _look(self, statement: str | None) -> None:
        if statement is None:
            return
        if hit := next((each for each in self._proxy.hung if each(statement)), None):
            self._proxy.hung.remove(hit)
            self._hangs = True
        if hit := next((each for each in self._proxy.aim if each(statement)), None):
            self._proxy.aim.remove(hit)
            self._proxy.hits += 1
            self._doomed = True
        if hit := next((each for each in self._proxy.unanswered if each(statement)), None):
            self._proxy.unanswered.remove(hit)
            self._proxy.hits += 1
            self._doomed = self._stays = True
        if self._doomed and (not self._in_transaction or is_commit(statement)):
            self._silent = True

    def _statement(self, kind: bytes, body: bytes) -> str | None:
        """The text of what is to be executed, if the message says so."""
        if kind == b"P":
            name, _, rest = body.partition(b"\0")
            self._statements[name] = rest.partition(b"\0")[0].decode()
        elif kind == b"B":
            return self._statements.get(body.split(b"\0", 2)[1])
        elif kind == b"Q":
            return body.rstrip(b"\0").decode()
        return None


def _socket_of(url: str) -> str:
    place = parse_qs(urlsplit(url).query)
    return f"{place['host'][0]}/.s.PGSQL.{place['port'][0]}"


def is_commit(sql: str) -> bool:
    return sql.strip().rstrip(";").upper() == "COMMIT"


async def _startup(reader: asyncio.StreamReader) -> bytes:
    """The first message has no kind; a request for SSL would come before it and is not made here."""
    (length,) = _LENGTH.unpack(head := await reader.readexactly(4))
    return head + await reader.readexactly(length - 4)


class _Messages:
    """The messages of one direction, all that have arrived at a time: one by one they would keep a core busy."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._rest = b""

    async def read(self) -> list[tuple[bytes, bytes]]:
        """Return the next whole messages, with their kinds; at least one."""
        found: list[tuple[bytes, bytes]] = []
        while not found:
            received = await self._reader.read(1 << 16)
            if not received:
                raise EOFError("the connection was closed")
            data, at = self._rest + received, 0
            while len(data) - at >= 5:
                (length,) = _LENGTH.unpack_from(data, at + 1)
                end = at + 1 + length
                if end > len(data):
                    break
                found.append((data[at : at + 1], data[at + 5 : end]))
                at = end
            self._rest = data[at:]
        return found


async def _write(writer: asyncio.StreamWriter, messages: list[bytes]) -> None:
    if messages:
        writer.write(b"".join(messages))
        await writer.drain()


def _framed(kind: bytes, body: bytes) -> bytes:
    return kind + _LENGTH.pack(len(body) + 4) + body
