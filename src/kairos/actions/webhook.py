"""`kairos.webhook`: the machine that delivers alarms, signed, until the receiver has them or it is told to stop."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from kairos import documents
from kairos.config import Settings
from kairos.errors import EgressRefused, StepError
from kairos.machine.backoff import Backoff
from kairos.machine.call import Options
from kairos.machine.context import Context
from kairos.machine.definition import Machine
from kairos.machine.outcome import Replay, Stop
from kairos.machine.reading import read_function
from kairos.machine.registry import Registry
from kairos.store.pool import AsyncStore
from kairos.store.query import Query
from kairos.verbs.webhooks import ACTION, QUEUE

TIMEOUT = 10
# About two hours in all: a receiver that is deployed or restarted is waited for.
_RETRY = Backoff(attempts=10, base=1, factor=3, cap="1h")


def with_webhooks(registry: Registry, store: Callable[[], AsyncStore], settings: Settings) -> Registry:
    """The same machines and the one that delivers: what a worker works with."""
    return _Whole(registry, machine(store, settings))


class _Whole(Registry):
    """A registry over another, which may still grow."""

    def __init__(self, users: Registry, own: Machine) -> None:
        super().__init__()
        self._users = users
        self.add(own)

    def find(self, name: str, version: int) -> Machine | None:
        return super().find(name, version) or self._users.find(name, version)

    def options(self, machine: Machine) -> Options:
        own = super().find(machine.name, machine.version)
        return self._users.options(machine) if own is None else super().options(machine)

    def latest(self, name: str) -> Machine:
        return super().latest(name) if name == ACTION else self._users.latest(name)

    def __iter__(self) -> Iterator[Machine]:
        return chain(self._users, super().__iter__())

    def __len__(self) -> int:
        return len(self._users) + super().__len__()


def machine(store: Callable[[], AsyncStore], settings: Settings) -> Machine:
    """The machine. A job holds the webhook's id and what to say; where and how it is signed is read when it runs."""

    async def deliver(ctx: Context[Any], webhook: int, event: dict[str, Any]) -> dict[str, Any]:
        # Imported when something is sent: a worker that sends nothing need not load what calls out.
        from kairos.actions.egress import EgressPolicy, request

        found = await store().run(Query("read_webhook", (webhook,)))
        if not found or (found[0]["paused"] and event["type"] != "test"):
            return {"skipped": "the webhook is gone" if not found else "the webhook is paused"}
        body = documents.encode(event).encode()
        sent_at = int(found[0]["now"].timestamp())
        response = await request(
            "POST",
            found[0]["url"],
            headers={
                "Content-Type": "application/json",
                "User-Agent": "kairos-webhook",
                "Kairos-Delivery": event["id"],
                "Kairos-Signature": signature(found[0]["secret"], sent_at, body),
            },
            body=body,
            timeout=TIMEOUT,
            policy=EgressPolicy(allow=("*", *settings.webhook_allow), redirects=0, max_bytes=4096),
        )
        if not 200 <= response.status < 300:
            raise StepError(f"The receiver answered {response.status}.")
        return {"status": response.status}

    return read_function(
        deliver,
        name=ACTION,
        version=1,
        queue=QUEUE,
        ttl=None,
        timeout=TIMEOUT * 2,
        runs_in=None,
        redact=(),
        retry=_handle,
    )


def signature(secret: str, sent_at: int, body: bytes) -> str:
    """`t=<unix>,v1=<hex>`: whoever has the secret can tell that the body is ours, and how old it is."""
    digest = hmac.new(secret.encode(), b"%d." % sent_at + body, hashlib.sha256).hexdigest()
    return f"t={sent_at},v1={digest}"


def _handle(error: Exception, ctx: Context[Any]) -> Replay | Stop:
    if isinstance(error, EgressRefused):
        return Stop(error.message)  # it is forbidden now, and will be in an hour
    return _RETRY(error, ctx)
