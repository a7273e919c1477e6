"""The health endpoint of a worker: two paths for an orchestrator's probes, and nothing else.

`/healthz` answers as long as the event loop turns; `/readyz` also asks the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kairos.app import Kairos
from kairos.cli.worker_process import Beside
from kairos.errors import BadRequest, KairosError
from kairos.logger import Logger

log = Logger("kairos.cli")
_LONGEST_REQUEST = 4096
_TIMEOUT = 5.0


def health(address: str) -> Beside:
    """Return the endpoint at `host:port`, to run beside a worker."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise BadRequest(f"{address!r} is no address: write it as 0.0.0.0:8766.", field="health")

    @asynccontextmanager
    async def serve(kairos: Kairos) -> AsyncIterator[None]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                async with asyncio.timeout(_TIMEOUT):
                    writer.write(await _response(reader, kairos))
                    await writer.drain()
            except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass  # the client has disconnected, or did not send an HTTP probe
            finally:
                writer.close()

        server = await asyncio.start_server(answer, host or None, int(port), limit=_LONGEST_REQUEST)
        log.info("health endpoint", address=address)
        async with server:
            yield

    return serve


async def _response(reader: asyncio.StreamReader, kairos: Kairos) -> bytes:
    request = await reader.readuntil(b"\r\n\r\n")
    match request.split(b" ", 2)[:2]:
        case [b"GET" | b"HEAD", b"/healthz"]:
            return _text(200, "ok")
        case [b"GET" | b"HEAD", b"/readyz"]:
            try:
                await kairos.store.check()
            except KairosError as error:
                return _text(503, error.message)
            return _text(200, "ready")
        case _:
            return _text(404, "There are /healthz and /readyz.")


def _text(status: int, body: str) -> bytes:
    content = f"{body}\n".encode()
    phrase = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}[status]
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content
