"""The one reader of request bodies: counted, declared as JSON, and strict JSON."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from kairos import codec
from kairos.api.settings import ServiceSettings
from kairos.errors import BadValue, NotJson, TooSlow


async def read_body(headers: Headers, receive: Receive, settings: ServiceSettings) -> Receive:
    """Read and check a body; answers a `receive` that gives the same body again."""
    try:
        async with asyncio.timeout(settings.receive_timeout):
            body = await _read(receive)
    except TimeoutError as error:
        raise TooSlow(f"The body did not come within {settings.receive_timeout:g} seconds.") from error
    if body:
        _refuse_other_types(headers)
        _refuse_bad_json(body, settings.body_limit)
    return _Again(body, receive)


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


class _Again:
    """A body that was read, to be read by the route; then whatever the connection says."""

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


def _refuse_bad_json(body: bytes, limit: int) -> None:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadValue("The body is not UTF-8 text.", field="body") from error
    try:
        codec.loads(text, "body", limit=limit)
    except BadValue as error:
        # The place within the body is the field, as in every other refusal.
        field = (error.field or "body").removeprefix("body").lstrip(".")
        raise BadValue(error.message, field=field or "body") from error
