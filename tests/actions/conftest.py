"""A small web server, and what came to it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


@dataclass
class Canary:
    """Answers every request with `answer`, and keeps what it was asked."""

    port: int = 0
    requests: list[str] = field(default_factory=list)
    answer: bytes | Callable[[str], bytes] = ANSWER

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(
                (int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")),
                0,
            )
            asked = head + (await reader.readexactly(length)).decode("latin-1")
            self.requests.append(asked)
            writer.write(self.answer if isinstance(self.answer, bytes) else self.answer(asked))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.requests.append("")
        finally:
            writer.close()


async def listen(canary: Canary, tls: ssl.SSLContext | None = None) -> asyncio.Server:
    server = await asyncio.start_server(canary.meet, "127.0.0.1", 0, ssl=tls)
    canary.port = server.sockets[0].getsockname()[1]
    return server


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    canary = Canary()
    server = await listen(canary)
    yield canary
    server.close()


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body
