"""Run exchanges over the network, blocking or awaiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any, TypeVar

import httpx2

from kairos import json_codec
from kairos.remote.exchange import (
    ConnectionLost,
    Exchange,
    HttpRequest,
    HttpResponse,
    Item,
    OpenStream,
    ReadLine,
)
from kairos.store.query import Pause, Returned, advance, drive, drive_sync

T = TypeVar("T")

# A stream sends a heartbeat every 15 seconds; a longer silence means that the connection is dead.
_STREAM_SILENCE = 45.0
BROKEN = (httpx2.TransportError, httpx2.StreamError, httpx2.DecodingError)


class SyncRunner:
    """Runs an exchange with a blocking HTTP client."""

    def __init__(self, timeout: float, **client: Any) -> None:
        self._timeout = timeout
        self._client = httpx2.Client(**client)

    def close(self) -> None:
        self._client.close()

    def run(self, exchange: Exchange[T]) -> T:
        return drive_sync(exchange, self._send)

    def iterate(self, exchange: Exchange[Any]) -> Iterator[Any]:
        answer: Any = None
        with ExitStack() as opened:
            lines: Iterator[str] = iter(())
            while not isinstance(effect := advance(exchange, answer), Returned):
                match effect:
                    case Item(value):
                        yield value
                    case Pause(seconds):
                        time.sleep(seconds)
                    case OpenStream(request):
                        opened.close()
                        try:
                            response = opened.enter_context(self._client.stream(**_stream(request)))
                            if response.status_code >= 400:
                                response.read()
                            lines = response.iter_lines()
                            answer = _answer(response, streams=response.status_code < 400)
                        except BROKEN as error:
                            answer = ConnectionLost(error)
                    case ReadLine():
                        try:
                            answer = next(lines, None)
                        except BROKEN as error:
                            answer = ConnectionLost(error)
                    case _:
                        answer = self._send(effect)

    def _send(self, request: Any) -> HttpResponse | ConnectionLost:
        try:
            return _answer(self._client.request(**_request(request, self._timeout)))
        except BROKEN as error:
            return ConnectionLost(error)


class AsyncRunner:
    """Runs an exchange with an async HTTP client."""

    def __init__(self, timeout: float, **client: Any) -> None:
        self._timeout = timeout
        self._client = httpx2.AsyncClient(**client)

    async def close(self) -> None:
        await self._client.aclose()

    async def run(self, exchange: Exchange[T]) -> T:
        return await drive(exchange, self._send)

    async def iterate(self, exchange: Exchange[Any]) -> AsyncIterator[Any]:
        answer: Any = None
        async with AsyncExitStack() as opened:
            lines: AsyncIterator[str] | None = None
            while not isinstance(effect := advance(exchange, answer), Returned):
                match effect:
                    case Item(value):
                        yield value
                    case Pause(seconds):
                        await asyncio.sleep(seconds)
                    case OpenStream(request):
                        await opened.aclose()
                        streaming = self._client.stream(**_stream(request))
                        try:
                            with _closed_at_once():
                                response = await opened.enter_async_context(streaming)
                            if response.status_code >= 400:
                                await response.aread()
                            lines = response.aiter_lines()
                            answer = _answer(response, streams=response.status_code < 400)
                        except BROKEN as error:
                            answer = ConnectionLost(error)
                    case ReadLine():
                        assert lines is not None
                        try:
                            answer = await anext(lines, None)
                        except BROKEN as error:
                            answer = ConnectionLost(error)
                    case _:
                        answer = await self._send(effect)

    async def _send(self, request: Any) -> HttpResponse | ConnectionLost:
        arguments = _request(request, self._timeout)
        try:
            with _closed_at_once():
                response = await self._client.request(**arguments)
        except BROKEN as error:
            return ConnectionLost(error)
        return _answer(response)


@contextmanager
def _closed_at_once() -> Iterator[None]:
    """Name the error of a connection that its server closes while it is set up: on uvloop it has no socket then, and
    anyio raises `AttributeError`.
    """
    try:
        yield
    except AttributeError as error:
        raise httpx2.ConnectError("the server closed the connection at once") from error


def _request(request: HttpRequest, timeout: float) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "method": request.method,
        "url": request.path,
        "params": {name: value for name, value in request.params.items() if value is not None},
        "headers": dict(request.headers),
        "timeout": timeout + request.wait,
    }
    if request.body is not None:
        arguments["content"] = json_codec.dumps(request.body, "body")
        arguments["headers"]["Content-Type"] = "application/json"
    return arguments


def _stream(request: HttpRequest) -> dict[str, Any]:
    return _request(request, _STREAM_SILENCE)


def _answer(response: httpx2.Response, *, streams: bool = False) -> HttpResponse:
    document = None
    if not streams and response.content:
        try:
            document = response.json()
        except ValueError:
            document = None  # not our service: only the status is known
    return HttpResponse(response.status_code, response.headers, document)
