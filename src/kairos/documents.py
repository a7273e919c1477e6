"""The shapes that programs read: the same words over HTTP and from `--json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from kairos.fsm import render
from kairos.machine.definition import Machine
from kairos.machine.registry import Registry
from kairos.store.rows import HistoryRow, Job, LogRow, MachineRow, Queue, SignalRow, WorkerRow
from kairos.store.schedules import Schedule, Tick
from kairos.verbs.audit import AuditRow
from kairos.verbs.keys import Key

if TYPE_CHECKING:
    from kairos.verbs.alarms import Alarm
    from kairos.verbs.webhooks import Webhook

HIDDEN = "[redacted]"


def encode(document: Any, *, indent: int | None = None) -> str:
    """The document as JSON text."""
    return json.dumps(
        document,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=None if indent else (",", ":"),
        default=_plain,
    )


def job(job: Job, registry: Registry | None = None) -> dict[str, Any]:
    return {
        "id": job.id,
        "action": job.action,
        "version": job.version,
        "state": job.state,
        "step": job.step,
        "attempt": job.attempt,
        "queue": job.queue,
        "priority": job.priority,
        "key": job.key,
        "unique": job.unique,
        "tags": job.tags,
        "input": redacted(job, registry),
        "output": job.output,
        "error": None if job.error is None else {"code": job.error_code, "message": job.error},
        "progress": job.progress,
        "createdAt": job.inserted_at,
        "runAt": job.run_at,
        "startedAt": job.started_at,
        "completedAt": job.completed_at,
        "expiresAt": job.expires_at,
        "cancelRequestedAt": job.cancel_requested_at,
        "cancelReason": job.cancel_reason,
        "awaits": job.awaits,
        "awaitUntil": job.await_until,
        "retry": None if job.retry is None else job.retry.as_json(),
        "retryOf": job.retry_of,
        "replyTo": job.reply_to,
        "schedule": job.schedule,
        "worker": job.worker,
        "createdBy": job.created_by,
        "requestId": job.request_id,
        "trace": job.trace,
        "can": job.can,
    }


def change(row: HistoryRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "verb": row.verb,
        "from": row.from_state,
        "to": row.to_state,
        "step": row.step,
        "attempt": row.attempt,
        "worker": row.worker,
        "actor": row.actor,
        "reason": row.reason,
        "startedAt": row.started_at,
        "at": row.at,
    }


def log_line(row: LogRow) -> dict[str, Any]:
    return {
        "cursor": row.cursor,
        "at": row.at,
        "level": row.level,
        "line": row.line,
        "fields": row.fields,
        "step": row.step,
        "attempt": row.attempt,
        "stream": row.stream,
    }


def signal(row: SignalRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "payload": row.payload,
        "dedupKey": row.dedup_key,
        "at": row.inserted_at,
        "consumedAt": row.consumed_at,
    }


def schedule(schedule: Schedule, registry: Registry | None = None) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "when": schedule.when,
        "sentence": schedule.sentence,
        "tz": schedule.tz,
        "action": schedule.action,
        "input": hidden(schedule.input, unshown(schedule.action, schedule.redact, registry)),
        "queue": schedule.queue,
        "overlap": schedule.overlap,
        "catchUp": schedule.catch_up,
        "catchUpWithin": schedule.catch_up_within,
        "jitter": schedule.jitter,
        "start": schedule.start,
        "end": schedule.end,
        "count": schedule.count,
        "ticksLeft": schedule.ticks_left,
        "paused": schedule.paused_at is not None,
        "pausedAt": schedule.paused_at,
        "pauseReason": schedule.pause_reason,
        "declaredBy": schedule.declared_by,
        "nextTicks": schedule.next_ticks,
    }


def unshown(action: str, stored: Sequence[str], registry: Registry | None) -> frozenset[str]:
    """What nobody is shown of an action's input: by the rule that is stored, and by that of code loaded here."""
    known = [machine.redact for machine in registry or () if machine.name == action]
    return frozenset(stored).union(*known)


def tick(tick: Tick) -> dict[str, Any]:
    return {"tickAt": tick.tick_at, "job": tick.job_id, "skipped": tick.reason, "decidedAt": tick.decided_at}


def settings(queue: Queue) -> dict[str, Any]:
    """A queue without its counts, as the verbs that change it answer."""
    return {
        "name": queue.name,
        "pausedAt": queue.paused_at,
        "concurrency": queue.concurrency,
        "rate": _rate(queue.rate_limit, queue.rate_period),
        "keyConcurrency": queue.key_concurrency,
        "keyRate": _rate(queue.key_rate_limit, queue.key_rate_period),
    }


def queue(queue: Queue) -> dict[str, Any]:
    counts = {name: getattr(queue, name) for name in ("scheduled", "pending", "running", "waiting")}
    return {**settings(queue), **counts, "atLeast": list(queue.at_least)}


def worker(worker: WorkerRow) -> dict[str, Any]:
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "queues": worker.queues,
        "actions": worker.actions,
        "concurrency": worker.concurrency,
        "running": worker.running,
        "startedAt": worker.started_at,
        "seenAt": worker.seen_at,
        "stoppingAt": worker.stopping_at,
        "drainAt": worker.drain_at,
        "live": worker.live,
    }


def registered(versions: Sequence[MachineRow]) -> dict[str, Any]:
    """A machine as the database knows it, by all its versions, the newest last."""
    newest = versions[-1]
    return {
        "name": newest.name,
        "version": newest.version,
        "versions": [each.version for each in versions],
        "queue": newest.queue,
        "ttl": newest.ttl,
        "input": newest.input,
        "redact": newest.redact,
        "steps": newest.diagram["states"],
        "workers": newest.workers,
        "seenAt": newest.seen_at,
    }


def machine(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "version": machine.version,
        "queue": machine.queue,
        "ttl": machine.ttl,
        "input": machine.state.json_schema(),
        "diagram": render.as_json(machine.spec),
    }


def alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "id": alarm.id,
        "kind": alarm.kind,
        "subject": alarm.subject,
        "severity": alarm.severity,
        "cause": alarm.cause,
        "remedy": alarm.remedy,
        "firstAt": alarm.first_at,
        "lastAt": alarm.last_at,
        "count": alarm.count,
        "acknowledgedAt": alarm.acknowledged_at,
        "acknowledgedBy": alarm.acknowledged_by,
        "clearedAt": alarm.cleared_at,
    }


def webhook(webhook: Webhook) -> dict[str, Any]:
    """A webhook; its secret only where it was just made."""
    last = webhook.last_delivery
    document = {
        "id": webhook.id,
        "url": webhook.url,
        "kinds": webhook.kinds,
        "paused": webhook.paused_at is not None,
        "createdAt": webhook.created_at,
        "lastDelivery": None
        if last is None
        else {"job": last.job, "state": last.state, "at": last.at, "error": last.error},
    }
    return document if webhook.secret is None else {**document, "secret": webhook.secret}


def key(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": key.scopes,
        "createdAt": key.created_at,
        "createdBy": key.created_by,
        "expiresAt": key.expires_at,
        "lastUsedAt": key.last_used_at,
        "revokedAt": key.revoked_at,
    }


def audit(row: AuditRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "at": row.at,
        "actor": row.actor,
        "verb": row.verb,
        "target": row.target,
        "requestId": row.request_id,
        "status": row.status,
        "details": row.details,
    }


def redacted(job: Job, registry: Registry | None) -> Any:
    """The job's input without what its machine's own rule hides.

    The rule is the job's own, as it was accepted, and that of its machine now: code loaded here, or registered.
    """
    machine = registry.find(job.action, job.version) if registry is not None else None
    return hidden(job.input, {*job.redact, *(machine.redact if machine is not None else ())})


def hidden(value: Any, fields: Iterable[str]) -> Any:
    """The value without the fields; `card.number` names one inside another, also in each of a list."""
    for field in fields:
        value = _hide(value, field)
    return value


def _hide(value: Any, field: str) -> Any:
    if isinstance(value, list):
        return [_hide(each, field) for each in value]
    if not isinstance(value, dict):
        return value
    if field in value:
        return {**value, field: HIDDEN}
    head, dot, rest = field.partition(".")
    return {**value, head: _hide(value[head], rest)} if dot and head in value else value


def _rate(limit: int | None, period: timedelta | None) -> dict[str, Any] | None:
    return None if limit is None else {"limit": limit, "seconds": period}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no place in a JSON document")
