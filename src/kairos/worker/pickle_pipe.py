"""Messages between a worker and its child processes: pickled, each after its length, over a pipe of their own."""

from __future__ import annotations

import asyncio
import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct("!I")


def framed(body: bytes) -> bytes:
    """Return a pickled message as it is written to the pipe."""
    return _LENGTH.pack(len(body)) + body


async def receive(stream: asyncio.StreamReader) -> dict[str, Any]:
    """Read the next message; raise `IncompleteReadError` at the end of the pipe."""
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    message: dict[str, Any] = pickle.loads(await stream.readexactly(length))  # noqa: S301 (from our own process)
    return message


def receive_sync(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read the next message; None at the end of the pipe."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    message: dict[str, Any] = pickle.loads(stream.read(_LENGTH.unpack(head)[0]))  # noqa: S301 (from our own process)
    return message
