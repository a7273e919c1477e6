"""Read a request body, and require that it is declared as JSON and is strict JSON."""

from __future__ import annotations

import asyncio
import re

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from kairos import json_codec
from kairos.api.settings import ServiceSettings
from kairos.errors import BadValue, NotJson, TooSlow

# How many values a body may have. Decoding them takes 0.3 seconds; a batch of a thousand jobs has some 50,000.
MOST_VALUES = 200_000
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')


async def read_body(headers: Headers, receive: Receive, settings: ServiceSettings) -> Receive:
    """Read and check a body; return a `receive` that gives the same body to the route."""
    try:
        async with asyncio.timeout(settings.receive_timeout):
            body = await _read(receive)
    except TimeoutError as error:
        raise TooSlow(f"The body did not come within {settings.receive_timeout:g} seconds.") from error
    if body:
        _refuse_other_types(headers)
        _refuse_many_values(body)
        _refuse_bad_json(body, settings.body_limit)
    return _BufferedBody(body, receive)


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


class _BufferedBody:
    """A `receive` that gives a body that was already read, then the messages of the connection."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _refuse_other_types(headers: Headers) -> None:
    declared = headers.get("content-type", "")
    if declared.partition(";")[0].strip().lower() != "application/json":
        raise NotJson(f"The body is declared as {declared[:80] or 'nothing'}: send application/json.")


def _refuse_many_values(body: bytes) -> None:
    """Refuse a body of very many values before it is decoded: each is preceded by a bracket or a comma."""
    if _count_values(body) > MOST_VALUES and _count_values(_STRING.sub(b"", body)) > MOST_VALUES:
        raise BadValue(f"The body has more than {MOST_VALUES:,} values, which is the limit.", field="body")


def _count_values(body: bytes) -> int:
    return body.count(b"[") + body.count(b"{") + body.count(b",")


def _refuse_bad_json(body: bytes, limit: int) -> None:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadValue("The body is not UTF-8 text.", field="body") from error
    try:
        json_codec.loads(text, "body", limit=limit)
    except BadValue as error:
        # The field is the path inside the body, as in every other error.
        field = (error.field or "body").removeprefix("body").lstrip(".")
        raise BadValue(error.message, field=field or "body") from error
