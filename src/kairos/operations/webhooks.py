"""Operations on webhooks, and the jobs that deliver alarms to them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from kairos import serializers, shapes
from kairos.alarms.kinds import KINDS
from kairos.errors import BadRequest
from kairos.machine.call import Call, Options
from kairos.machine.field_checks import OWN_QUEUE, check_name, checked_id
from kairos.operations.enqueue_jobs import enqueue
from kairos.shapes import read
from kairos.shapes.alarm import Alarm
from kairos.shapes.job import Job
from kairos.shapes.webhook import Webhook
from kairos.store.query import Operation, Query, Row, required_row

# The machine that delivers, and the queue that every worker serves besides its own.
ACTION = "kairos.webhook"
QUEUE = OWN_QUEUE
STEP = "run"

_LONGEST_URL = 2048


def webhooks(*, after: int | None = None, limit: int | None = None) -> Operation[list[Webhook]]:
    """Return every webhook with its newest delivery; or at most `limit` after one."""
    found = yield Query("list_webhooks", (None, after, limit))
    return [read(Webhook, row) for row in found]


def webhook(webhook_id: int) -> Operation[Webhook]:
    """Return one webhook."""
    return read(Webhook, (yield from _row("list_webhooks", webhook_id, None, None)))


def add_webhook(
    url: str, *, kinds: Sequence[str] = (), paused: bool = False, actor: str | None = None
) -> Operation[Webhook]:
    """Create a webhook; only this result holds the secret that signs its requests."""
    secret = f"whsec_{secrets.token_urlsafe(32)}"
    saved = yield Query("save_webhook", (None, _url(url), secret, _kinds(kinds), paused, actor))
    made = yield from webhook(saved[0]["id"])
    return replace(made, secret=secret)


def change_webhook(
    webhook_id: int,
    *,
    url: str | None = None,
    kinds: Sequence[str] | None = None,
    paused: bool | None = None,
) -> Operation[Webhook]:
    """Change the given values of a webhook."""
    given = (None if url is None else _url(url), None, None if kinds is None else _kinds(kinds), paused, None)
    yield from _row("save_webhook", webhook_id, *given)
    return (yield from webhook(webhook_id))


def remove_webhook(webhook_id: int) -> Operation[None]:
    """Delete a webhook."""
    yield from _row("delete_webhook", webhook_id)


def try_webhook(
    webhook_id: int, *, actor: str | None = None, request_id: str | None = None
) -> Operation[Job]:
    """Send a signed test to a webhook, even a paused one; return the job that delivers it."""
    there = yield from webhook(webhook_id)
    now = (yield Query("read_now"))[0]["now"]
    name = f"{there.id}-test-{secrets.token_hex(8)}"
    call = _call(there.id, name, "test", now, None)
    origin = replace(call.options, actor=actor, request_id=request_id)
    return (yield from enqueue(replace(call, options=origin)))


def deliveries(events: Sequence[tuple[str, Alarm]]) -> Operation[list[Call]]:
    """Return a delivery for each event and each webhook that wants it, except alarms about that webhook itself."""
    calls = []
    for row in (yield Query("list_webhooks", (None, None, None))):
        if row["paused_at"] is not None:
            continue
        for event, alarm in events:
            if row["kinds"] and alarm.kind not in row["kinds"]:
                continue
            if alarm.kind == "webhook_undeliverable" and alarm.subject == str(row["id"]):
                continue
            at = alarm.first_at if event == "raised" else alarm.cleared_at
            name = f"{row['id']}-{alarm.id}-{event}"
            calls.append(_call(row["id"], name, f"alarm.{event}", at, shapes.document(alarm)))
    return calls


def _row(statement: str, webhook_id: int, *params: Any) -> Operation[Row]:
    """Run a statement for one webhook and return its row."""
    query = Query(statement, (checked_id(webhook_id, "webhook"), *params))
    return (yield from required_row(query, f"There is no webhook {webhook_id}."))


def _call(webhook_id: int, name: str, kind: str, at: datetime | None, alarm: Any) -> Call:
    event = {"id": name, "type": kind, "at": at, "alarm": alarm}
    state = serializers.encode({"webhook": webhook_id, "event": event})
    # The unique key is never freed, so that each event is delivered once.
    options = Options(unique=f"{ACTION}:{name}", unique_scope="ever", if_taken="return")
    return Call(ACTION, 1, STEP, state, QUEUE, None, options)


def _url(url: Any) -> str:
    """Return a valid URL; whether its address may be called is checked at each delivery."""
    if (
        not isinstance(url, str)
        or len(url) > _LONGEST_URL
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        raise BadRequest(f"url is {url!r}; it must be an http or https URL in plain ASCII.", field="url")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise BadRequest(f"url is {url!r}, which is no URL: {error}.", field="url") from error
    if not usable:
        raise BadRequest(f"url is {url!r}; it must begin with https:// or http:// and a host.", field="url")
    if parts.username is not None or parts.password is not None:
        raise BadRequest("url holds a name or a password: what is sent is signed instead.", field="url")
    return url


def _kinds(kinds: Any) -> list[str]:
    if isinstance(kinds, str) or not isinstance(kinds, Sequence):
        raise BadRequest(f"kinds is {kinds!r}; give a list of kinds of alarms.", field="kinds")
    for kind in kinds:
        check_name(kind, "kinds")
        if kind not in KINDS:
            raise BadRequest(f"There is no kind of alarm {kind!r}; known: {', '.join(KINDS)}.", field="kinds")
    return list(dict.fromkeys(kinds))
