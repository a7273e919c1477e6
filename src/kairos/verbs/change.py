"""Changing jobs: signals, and the client's own edges of the lifecycle."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from kairos import codec
from kairos.errors import BadRequest, Conflict, Duplicate, InvalidTransition, NotFound
from kairos.fsm.lifecycle import JobState, can
from kairos.fsm.lifecycle import Verb as Change
from kairos.machine.names import check_name
from kairos.store.query import Query, Row, Verb
from kairos.store.rows import Job
from kairos.verbs.read import get, job_number


def signal(
    target: int | str,
    name: str,
    payload: Any = None,
    *,
    dedup_key: str | None = None,
    actor: str | None = None,
) -> Verb[str]:
    """Send a signal to a job by id or by the unique key it holds.

    Answers "woke", "delivered" (it waits in the inbox) or "duplicate"; a finished job refuses it.
    """
    check_name(name, "name")
    if dedup_key is not None:
        check_name(dedup_key, "dedup_key")
    if isinstance(target, str):
        check_name(target, "target")
    by_id, by_key = (None, target.encode()) if isinstance(target, str) else (job_number(target), None)
    body = codec.dumps({} if payload is None else payload, "payload")
    answer = (yield Query("deliver_signal", (by_id, by_key, name, body, dedup_key, actor)))[0]
    match answer["answer"]:
        case "unknown":
            raise NotFound(f"There is no live job {target!r} to send {name!r} to.")
        case "finished":
            job = yield from get(answer["id"])
            raise Conflict(f"Job {job.id} is {job.state} and takes no more signals; {name!r} was not stored.")
        case "woke":
            job = yield from get(answer["id"])
            yield Query("notify_queues", ([job.queue],))
    return str(answer["answer"])


def cancel(job_id: int, *, reason: str | None = None, actor: str | None = None) -> Verb[Job]:
    """Cancel a job before it runs, or ask a running one to stop; a finished one raises `InvalidTransition`."""
    if reason is not None:
        _check_words(reason, "reason")
    found = yield Query("cancel_jobs", ([job_number(job_id)], reason, actor))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    if not found[0]["done"]:
        raise _refused(job_id, found[0]["state"], JobState.CANCELLED)
    job = yield from get(job_id)  # as it was asked: by the time it heard the hint, it may be gone
    yield from tell_cancelled(found)
    return job


def tell_cancelled(cancelled: Sequence[Row]) -> Verb[None]:
    """Tell the workers that run these jobs, and let those in that waited behind them."""
    if running := [row["id"] for row in cancelled if row["running"]]:
        yield Query("notify_cancel", (running,))
    if keys := sorted({row["leaves_line"] for row in cancelled} - {None}):
        opened = yield Query("open_keys", (keys,))
        yield Query("notify_queues", (sorted({row["queue"] for row in opened}),))


def run_now(job_id: int, *, actor: str | None = None) -> Verb[Job]:
    """Bring a scheduled job's time forward to now."""
    found = yield Query("run_jobs_now", ([job_number(job_id)], actor))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    if not found[0]["done"]:
        raise _refused(job_id, found[0]["state"], JobState.PENDING)
    job = yield from get(job_id)
    yield Query("notify_queues", ([job.queue],))
    return job


def retry(
    job_id: int,
    *,
    step: str | None = None,
    ttl: timedelta | None = None,
    actor: str | None = None,
    request_id: str | None = None,
    trace: str | None = None,
) -> Verb[Job]:
    """Make a new job from the first input of one that ended; `retry_of` names the old one.

    It begins at `step`, or where nobody here knows the machine, where the old one began.
    """
    found = yield Query("retry_jobs", ([job_number(job_id)], actor, request_id, step, ttl, trace))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    old = found[0]
    if not old["ended"]:
        raise InvalidTransition(
            f"Job {job_id} is {old['state']}, and only a job that ended can be retried; "
            f"allowed now: {', '.join(can(old['state']))}.",
            current=old["state"],
            target=Change.RETRY,
            allowed=can(old["state"]),
        )
    if not old["done"] and old["holder"] is None:
        # Whoever held the key let go of it in between: it is free now.
        return (yield from retry(job_id, step=step, ttl=ttl, actor=actor, request_id=request_id, trace=trace))
    if not old["done"]:
        holder = yield from get(old["holder"])
        raise Duplicate(
            f"Job {holder.id} holds the unique key of job {job_id} and is {holder.state}.", job=holder
        )
    job = yield from get(old["made"])
    yield Query("notify_queues", ([job.queue],))
    return job


def delete(job_id: int) -> Verb[None]:
    """Delete a job that ended, with its history, signals and logs; it is counted with what retention took."""
    found = yield Query("delete_jobs", ([job_number(job_id)],))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    if not found[0]["done"]:
        state = found[0]["state"]
        raise InvalidTransition(
            f"Job {job_id} is {state}, and only a job that ended can be deleted; "
            f"allowed now: {', '.join(can(state))}.",
            current=state,
            target="deleted",
            allowed=can(state),
        )


def _refused(job_id: int, current: str, target: JobState) -> InvalidTransition:
    allowed = can(current)
    return InvalidTransition(
        f"Job {job_id} is {current} and cannot become {target}; allowed now: {', '.join(allowed) or 'nothing'}.",
        current=current,
        target=target,
        allowed=allowed,
    )


def _check_words(text: Any, field: str) -> None:
    if not isinstance(text, str):
        raise BadRequest(f"{field} is {text!r}; it must be text.", field=field)
    codec.dumps(text, field)
