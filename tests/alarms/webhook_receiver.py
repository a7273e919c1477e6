"""A receiver of webhooks: a small real HTTP server that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from kairos import Kairos


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        return json.loads(self.body)

    def verifies(self, secret: str) -> bool:
        """As the page on alarms tells receivers to."""
        parts = dict(part.split("=", 1) for part in self.headers["kairos-signature"].split(","))
        signed = hmac.new(secret.encode(), f"{parts['t']}.".encode() + self.body, hashlib.sha256)
        return hmac.compare_digest(signed.hexdigest(), parts["v1"])


@dataclass
class Receiver:
    """`answers` are the next statuses, then 204; a text is a redirect to there."""

    url: str = ""
    answers: list[int | str] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.received.append(Received(headers, body))
        status = self.answers.pop(0) if self.answers else 204
        location = f"Location: {status}\r\n" if isinstance(status, str) else ""
        code = 307 if isinstance(status, str) else status
        writer.write(
            f"HTTP/1.1 {code} Whatever\r\n{location}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    async with server:
        yield receiver


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    """An app whose webhooks may lead to this machine."""
    async with Kairos(database, webhook_allow=["127.0.0.1"]) as app:
        yield app
