"""Webhooks: where alarms are sent to, by jobs of Kairos' own."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kairos import documents
from kairos.alarms.kinds import KINDS
from kairos.errors import BadRequest, NotFound
from kairos.machine.call import Call, Options
from kairos.machine.names import LARGEST_ID, OWN_QUEUE, check_name
from kairos.store.query import Query, Row, Verb
from kairos.store.rows import Job
from kairos.verbs.accept import enqueue

if TYPE_CHECKING:
    from kairos.verbs.alarms import Alarm

# The machine that delivers, and the queue that every worker serves besides its own.
ACTION = "kairos.webhook"
QUEUE = OWN_QUEUE
STEP = "run"

_LONGEST_URL = 2048


@dataclass(frozen=True, slots=True)
class Delivery:
    """The newest delivery to a webhook: a job, and how it stands."""

    job: int
    state: str
    at: datetime
    error: str | None


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where alarms of `kinds` (none: of all) are sent to; `secret` is known only to who made it."""

    id: int
    url: str
    kinds: tuple[str, ...]
    paused_at: datetime | None
    created_at: datetime
    last_delivery: Delivery | None
    secret: str | None = None


def webhooks(*, after: int | None = None, limit: int | None = None) -> Verb[list[Webhook]]:
    """Every webhook, with its newest delivery; or at most `limit` after one."""
    found = yield Query("list_webhooks", (None, after, limit))
    return [_webhook(row) for row in found]


def webhook(webhook_id: int) -> Verb[Webhook]:
    """One webhook."""
    found = yield Query("list_webhooks", (_number(webhook_id), None, None))
    if not found:
        raise NotFound(f"There is no webhook {webhook_id}.")
    return _webhook(found[0])


def add_webhook(
    url: str, *, kinds: Sequence[str] = (), paused: bool = False, actor: str | None = None
) -> Verb[Webhook]:
    """Send alarms to a URL from now on; the answer holds the secret that signs them, this once."""
    secret = f"whsec_{secrets.token_urlsafe(32)}"
    saved = yield Query("save_webhook", (None, _url(url), secret, _kinds(kinds), paused, actor))
    made = yield from webhook(saved[0]["id"])
    return Webhook(made.id, made.url, made.kinds, made.paused_at, made.created_at, None, secret)


def change_webhook(
    webhook_id: int,
    *,
    url: str | None = None,
    kinds: Sequence[str] | None = None,
    paused: bool | None = None,
) -> Verb[Webhook]:
    """Change what is given of a webhook."""
    given = (None if url is None else _url(url), None, None if kinds is None else _kinds(kinds), paused, None)
    if not (yield Query("save_webhook", (_number(webhook_id), *given))):
        raise NotFound(f"There is no webhook {webhook_id}.")
    return (yield from webhook(webhook_id))


def remove_webhook(webhook_id: int) -> Verb[None]:
    """Send nothing there any more."""
    if not (yield Query("delete_webhook", (_number(webhook_id),))):
        raise NotFound(f"There is no webhook {webhook_id}.")


def try_webhook(webhook_id: int, *, actor: str | None = None, request_id: str | None = None) -> Verb[Job]:
    """Send a webhook a test, signed like an alarm; answers the job that delivers it, also while it is paused."""
    there = yield from webhook(webhook_id)
    now = (yield Query("read_now"))[0]["now"]
    name = f"{there.id}-test-{secrets.token_hex(8)}"
    call = _call(there.id, name, "test", now, None)
    origin = replace(call.options, actor=actor, request_id=request_id)
    return (yield from enqueue(replace(call, options=origin)))


def deliveries(events: Sequence[tuple[str, Alarm]]) -> Verb[list[Call]]:
    """One delivery for each event and each webhook that wants it; a webhook is not told of its own failure."""
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
            calls.append(_call(row["id"], name, f"alarm.{event}", at, documents.alarm(alarm)))
    return calls


def _call(webhook_id: int, name: str, kind: str, at: datetime | None, alarm: Any) -> Call:
    event = {"id": name, "type": kind, "at": at, "alarm": alarm}
    state = documents.encode({"webhook": webhook_id, "event": event})
    # Its name is its key for ever: whoever enqueues it again, it is sent once.
    options = Options(unique=f"{ACTION}:{name}", unique_scope="ever", if_taken="return")
    return Call(ACTION, 1, STEP, state, QUEUE, None, options)


def _webhook(row: Row) -> Webhook:
    last = None
    if row["job"] is not None:
        last = Delivery(row["job"], row["state"], row["at"], row["last_error"])
    return Webhook(row["id"], row["url"], tuple(row["kinds"]), row["paused_at"], row["created_at"], last)


def _url(url: Any) -> str:
    """What can be called at all; whether it may be is decided with the address, each time something is sent."""
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


def _number(webhook_id: Any) -> int:
    if isinstance(webhook_id, bool) or not isinstance(webhook_id, int):
        raise BadRequest(f"A webhook's id is a whole number, not {webhook_id!r}.", field="id")
    if not 0 < webhook_id <= LARGEST_ID:
        raise NotFound(f"There is no webhook {webhook_id}.")
    return webhook_id
