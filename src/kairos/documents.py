"""The shapes that programs read: the same words over HTTP and from `--json`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from kairos.fsm import render
from kairos.machine.definition import Machine
from kairos.machine.registry import Registry
from kairos.schedules import Schedule, Tick
from kairos.store.rows import HistoryRow, Job, Queue, SignalRow

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
        "retryOf": job.retry_of,
        "replyTo": job.reply_to,
        "schedule": job.schedule,
        "worker": job.worker,
        "can": job.can,
    }


def change(row: HistoryRow) -> dict[str, Any]:
    return {
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


def signal(row: SignalRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "payload": row.payload,
        "dedupKey": row.dedup_key,
        "at": row.inserted_at,
        "consumedAt": row.consumed_at,
    }


def schedule(schedule: Schedule) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "when": schedule.when,
        "sentence": schedule.sentence,
        "tz": schedule.tz,
        "action": schedule.action,
        "input": schedule.input,
        "overlap": schedule.overlap,
        "catchUp": schedule.catch_up,
        "jitter": schedule.jitter,
        "start": schedule.start,
        "end": schedule.end,
        "count": schedule.count,
        "paused": schedule.paused_at is not None,
        "nextTicks": schedule.next_ticks,
    }


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
    return {**settings(queue), **counts}


def machine(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "version": machine.version,
        "queue": machine.queue,
        "ttl": machine.ttl,
        "input": machine.state.json_schema(),
        "diagram": render.as_json(machine.spec),
    }


def redacted(job: Job, registry: Registry | None) -> Any:
    """The job's input without what its machine's own rule hides."""
    machine = registry.find(job.action, job.version) if registry is not None else None
    if machine is None or not isinstance(job.input, dict):
        return job.input
    return {name: HIDDEN if name in machine.redact else value for name, value in job.input.items()}


def _rate(limit: int | None, period: timedelta | None) -> dict[str, Any] | None:
    return None if limit is None else {"limit": limit, "seconds": period}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no place in a JSON document")
