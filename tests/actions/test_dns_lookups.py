"""Names that are never answered hold up no other lookup of the program."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from kairos.actions import egress
from kairos.errors import EgressFailed


class Silent:
    """Every name below `.silent` has no answer until `release` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.release = Event()
        self._getaddrinfo = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.getaddrinfo)

    def getaddrinfo(self, host: Any, *given: Any, **named: Any) -> Any:
        if str(host).endswith(".silent"):
            self.release.wait()
            raise socket.gaierror(-2, "Name or service not known")
        return self._getaddrinfo(host, *given, **named)


@pytest.fixture
async def silent(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Silent]:
    made = Silent(monkeypatch)
    yield made
    made.release.set()


async def test_names_without_an_answer_hold_up_no_other_lookup(silent: Silent) -> None:
    waiting = [asyncio.create_task(egress.lookup(f"{n}.silent", 80)) for n in range(40)]
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        # As the driver looks up the host of the database.
        found = await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)
        assert found[0][4] == ("127.0.0.1", 80)
        assert await egress.lookup("127.0.0.1", 80) == ["127.0.0.1"]
    silent.release.set()
    for each in waiting:
        with pytest.raises(EgressFailed, match="could not be looked up"):
            await each


async def test_lookups_that_nobody_waits_for_count_too_and_webhooks_have_their_own(silent: Silent) -> None:
    asked = [asyncio.create_task(egress.lookup(f"{n}.silent", 80)) for n in range(64)]
    await asyncio.sleep(0)
    for each in asked:
        each.cancel()
        with suppress(asyncio.CancelledError):
            await each
    with pytest.raises(EgressFailed, match="64 other names have no answer yet"):
        await egress.lookup("127.0.0.1", 80)
    assert await egress.webhook_lookup("127.0.0.1", 80) == ["127.0.0.1"]
    silent.release.set()
    while True:
        with suppress(EgressFailed):
            assert await egress.lookup("127.0.0.1", 80) == ["127.0.0.1"]
            return
        await asyncio.sleep(0.01)
