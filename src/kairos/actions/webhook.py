"""`kairos.webhook`: the machine that delivers alarms as signed HTTP requests, with retries."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from kairos import serializers
from kairos.config import Settings
from kairos.errors import EgressRefused, StepError
from kairos.machine.backoff import Backoff
from kairos.machine.context import Context
from kairos.machine.definition import Machine
from kairos.machine.from_code import Declaration, read_function
from kairos.machine.outcome import Replay, Stop
from kairos.machine.registry import ExtendedRegistry, Registry
from kairos.operations.webhooks import ACTION, QUEUE
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query

TIMEOUT = 10
# About two hours in all: long enough for a receiver to be redeployed.
_RETRY = Backoff(attempts=10, base=1, factor=3, cap="1h")


def with_webhooks(registry: Registry, store: Callable[[], AsyncStore], settings: Settings) -> Registry:
    """Return a registry of the given machines plus the webhook machine, for a worker."""
    return ExtendedRegistry(registry, machine(store, settings))


def machine(store: Callable[[], AsyncStore], settings: Settings) -> Machine:
    """Build the machine. A job holds the webhook's id and the payload; URL and secret are read when it runs."""

    async def deliver(ctx: Context[Any], webhook: int, event: dict[str, Any]) -> dict[str, Any]:
        # Imported on first use: most workers send nothing.
        from kairos.actions.egress import EgressPolicy, request, webhook_lookup

        found = await store().run(Query("read_webhook", (webhook,)))
        if not found or (found[0]["paused"] and event["type"] != "test"):
            return {"skipped": "the webhook is gone" if not found else "the webhook is paused"}
        body = serializers.encode(event).encode()
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
            resolve=webhook_lookup,
        )
        if not 200 <= response.status < 300:
            raise StepError(f"The receiver answered {response.status}.")
        return {"status": response.status}

    return read_function(deliver, Declaration(ACTION, queue=QUEUE, timeout=TIMEOUT * 2, retry=_handle))


def signature(secret: str, sent_at: int, body: bytes) -> str:
    """Return `t=<unix>,v1=<hex>`, by which a receiver with the secret verifies the body and its age."""
    digest = hmac.new(secret.encode(), b"%d." % sent_at + body, hashlib.sha256).hexdigest()
    return f"t={sent_at},v1={digest}"


def _handle(error: Exception, ctx: Context[Any]) -> Replay | Stop:
    if isinstance(error, EgressRefused):
        return Stop(error.message)  # a retry would be refused too
    return _RETRY(error, ctx)
