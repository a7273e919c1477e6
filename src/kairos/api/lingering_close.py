"""A transport whose close lets the client read the response, even while the client is still sending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class LingeringTransport:
    """Close in two steps while the client may still be sending: first stop writing, later stop reading.

    Closing a socket with unread bytes resets the connection, and the client may lose the response. So the write side
    is closed after the response, and the protocol drops what still arrives, until the client closes or `timeout`
    seconds have passed.
    """

    def __init__(self, transport: asyncio.Transport, sends_more: Callable[[], bool], timeout: float) -> None:
        self._transport = transport
        self._sends_more = sends_more
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def lingers(self) -> bool:
        return self._end is not None

    def is_closing(self) -> bool:
        return self.lingers or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if not self.lingers:
            self._transport.write(data)

    def close(self) -> None:
        if self.lingers or self._transport.is_closing():
            return
        if not (self._sends_more() and self._transport.can_write_eof()):
            self._transport.close()
            return
        self._end = self._loop.call_later(self._timeout, self._transport.abort)
        self._transport.write_eof()
        self._transport.resume_reading()

    def finish(self) -> None:
        """Finish the close: the client has closed its side, or the connection is lost."""
        if self._end is not None:
            self._end.cancel()
        self._transport.close()
        self._sends_more = _sends_nothing  # not a method of the protocol, which refers to this transport


def _sends_nothing() -> bool:
    return False
