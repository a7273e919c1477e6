"""Look up hosts in threads of their own, so that names that are never answered hold up nothing else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from threading import BoundedSemaphore, Thread

from kairos.errors import EgressFailed


class DnsLookups:
    """Return every address of a host as the system resolves it; unusual spellings of an address come out normalised.

    The lookups of an event loop share a few threads with all else that it looks up, such as the database's host when a
    worker connects again; a name whose server does not answer keeps one of them for up to a minute, whoever waits for
    it. At most `most` lookups here are under way at a time, also those that nobody waits for any longer.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._free = BoundedSemaphore(most)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        if not self._free.acquire(blocking=False):
            raise EgressFailed(f"{host} was not looked up: {self._most} other names have no answer yet.")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()
        try:
            # A daemon, so that a program can end without it.
            Thread(target=self._find, args=(host, port, loop, answer), name="kairos dns", daemon=True).start()
        except RuntimeError:  # no more threads
            self._free.release()
            raise
        return await answer

    def _find(
        self, host: str, port: int, loop: asyncio.AbstractEventLoop, answer: asyncio.Future[list[str]]
    ) -> None:
        found: list[str] | EgressFailed
        try:
            found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            found = EgressFailed(f"{host} could not be looked up: {error}.")
            found.__cause__ = error
        finally:
            self._free.release()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_set, answer, found)


def _set(answer: asyncio.Future[list[str]], found: list[str] | EgressFailed) -> None:
    if answer.done():  # nobody waits any longer
        return
    if isinstance(found, EgressFailed):
        answer.set_exception(found)
    else:
        answer.set_result(found)
