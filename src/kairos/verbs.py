"""What can be asked of Kairos. Each verb yields statements and returns its answer; none does I/O."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kairos import codec
from kairos.durations import Duration, duration
from kairos.errors import BadRequest, Conflict, Duplicate, InvalidTransition, JobFailed, NotFinished, NotFound
from kairos.fsm.lifecycle import JobState, can
from kairos.fsm.lifecycle import Verb as Change
from kairos.machine.call import Call
from kairos.machine.names import LARGEST_ID, check_name, check_range
from kairos.store import rows
from kairos.store.columns import instants, microseconds, plain, texts
from kairos.store.query import Pause, Query, Row, Verb
from kairos.store.rows import HistoryRow, Job, Queue, SignalRow, WorkerRow

_LARGEST_PAGE = 10_000


def enqueue(call: Call) -> Verb[Job]:
    """Insert one job; a taken unique key raises `Duplicate`, or returns its holder with `if_taken="return"`."""
    job = (yield from enqueue_many([call]))[0]
    if not job.is_new and call.options.if_taken == "raise":
        raise Duplicate(
            f"Job {job.id} holds the unique key {call.options.unique!r} and is {job.state}.", job=job
        )
    return job


def enqueue_many(calls: Iterable[Call]) -> Verb[list[Job]]:
    """Insert many jobs in one statement; each answer says by `is_new` whether it was inserted or already there."""
    batch = list(calls)
    for call in batch:
        if not isinstance(call, Call):
            raise BadRequest(f"Enqueue a call such as send.call(user_id=7), not {call!r}.", field="call")
    if not batch:
        return []
    answer = yield insert(batch)
    jobs = []
    for call, row in zip(batch, answer, strict=True):
        jobs.append(_new_job(call, row) if row["is_new"] else (yield from _holder(call, row["id"])))
    return jobs


def insert(batch: Sequence[Call]) -> Query:
    """The insert itself, as the worker uses it too for the children of a step."""
    options = [call.options for call in batch]
    ttls = [
        None if given.expires_at else call.ttl if given.ttl_by is None else given.ttl_by
        for call, given in zip(batch, options, strict=True)
    ]
    return Query(
        "insert_jobs",
        (
            texts([call.action for call in batch]),
            plain([call.version for call in batch]),
            texts([call.step for call in batch]),
            texts([call.state for call in batch]),
            texts([call.queue for call in batch]),
            plain([given.priority for given in options]),
            texts([given.key for given in options]),
            plain([given.ordered or None for given in options]),
            instants(given.run_at for given in options),
            microseconds(given.delay_by for given in options),
            microseconds(ttls),
            instants(given.expires_at for given in options),
            texts([given.unique for given in options]),
            texts([texts(given.scope) if given.unique else None for given in options]),
            plain([given.reply_to[0] if given.reply_to else None for given in options]),
            texts([given.reply_to[1] if given.reply_to else None for given in options]),
            texts([texts(given.tags) for given in options]),
            plain([given.max_reaps for given in options]),
        ),
        pokes=frozenset(call.queue for call in batch),
    )


def get(job_id: int) -> Verb[Job]:
    """One job as it is now."""
    found = yield Query("read_jobs", ([_id(job_id)],))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    return rows.job(found[0])


def list_jobs(
    *,
    state: JobState | str | None = None,
    action: str | None = None,
    queue: str | None = None,
    key: str | None = None,
    tag: str | None = None,
    before: int | None = None,
    limit: int = 50,
) -> Verb[list[Job]]:
    """Jobs, newest first; go on with `before` set to the last id of the page."""
    check_range(limit, "limit", 1, _LARGEST_PAGE)
    if before is not None:
        check_range(before, "before", 1, LARGEST_ID)
    for field, name in (("action", action), ("queue", queue), ("key", key), ("tag", tag)):
        if name is not None:
            check_name(name, field)
    wanted = None if state is None else _state(state)
    found = yield Query("list_jobs", (before, wanted, action, queue, key, tag, limit))
    return [rows.job(row) for row in found]


def history(job_id: int) -> Verb[list[HistoryRow]]:
    """Everything that was committed for one job, in order."""
    found = yield Query("read_history", (_id(job_id),))
    return [HistoryRow(**row) for row in found]


def signals(job_id: int) -> Verb[list[SignalRow]]:
    """Everything that was ever sent to one job, consumed or not."""
    found = yield Query("read_signals", (_id(job_id),))
    return [rows.signal(row) for row in found]


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
    by_id, by_key = (None, target.encode()) if isinstance(target, str) else (_id(target), None)
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
    found = yield Query("cancel_job", (_id(job_id), reason, actor))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    if not found[0]["live"]:
        raise _refused(job_id, found[0]["state"], JobState.CANCELLED)
    if found[0]["running"]:
        yield Query("notify_cancel", (str(job_id),))
    if (key := found[0]["leaves_line"]) is not None:
        opened = yield Query("open_keys", ([key],))
        yield Query("notify_queues", ([row["queue"] for row in opened],))
    return (yield from get(job_id))


def run_now(job_id: int, *, actor: str | None = None) -> Verb[Job]:
    """Bring a scheduled job's time forward to now."""
    found = yield Query("run_job_now", (_id(job_id), actor))
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    if not found[0]["moved"]:
        raise _refused(job_id, found[0]["state"], JobState.PENDING)
    job = yield from get(job_id)
    yield Query("notify_queues", ([job.queue],))
    return job


def retry(job_id: int, *, step: str | None = None, ttl: timedelta | None = None) -> Verb[Job]:
    """Make a new job from the first input of one that ended; `retry_of` names the old one.

    It begins at `step`, or where nobody here knows the machine, where the old one began.
    """
    found = yield Query("retry_job", (_id(job_id), step, ttl))
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
    if old["id"] is None and old["holder"] is None:
        # Whoever held the key let go of it in between: it is free now.
        return (yield from retry(job_id, step=step, ttl=ttl))
    if old["id"] is None:
        holder = yield from get(old["holder"])
        raise Duplicate(
            f"Job {holder.id} holds the unique key of job {job_id} and is {holder.state}.", job=holder
        )
    job = yield from get(old["id"])
    yield Query("notify_queues", ([job.queue],))
    return job


def result(job_id: int, *, timeout: Duration | None = None) -> Verb[Any]:
    """Wait for a job to end and return its output; any other end raises `JobFailed`."""
    limit = None if timeout is None else duration(timeout, "timeout").total_seconds()
    waited, pause = 0.0, 0.01
    while True:
        job = yield from get(job_id)
        if job.state is JobState.SUCCESS:
            return job.output
        if job.is_terminal:
            raise JobFailed(
                f"Job {job.id} ({job.action}) is {job.state}: {job.error or job.cancel_reason}", job=job
            )
        if limit is not None and waited >= limit:
            raise NotFinished(f"Job {job.id} ({job.action}) is still {job.state} after {waited:g} s.")
        pause = pause if limit is None else min(pause, limit - waited)
        yield Pause(pause)
        waited += pause
        pause = min(pause * 1.5, 0.25)


def queues() -> Verb[list[Queue]]:
    """Every queue that has live work or settings."""
    found = yield Query("list_queues")
    return [Queue(**row) for row in found]


def pause(queue: str) -> Verb[Queue]:
    """Stop picking from a queue; what runs goes on."""
    return (yield from _save_queue(queue, ["paused"], paused=True))


def resume(queue: str) -> Verb[Queue]:
    """Pick from a queue again."""
    answer = yield from _save_queue(queue, ["paused"], paused=False)
    yield Query("notify_queues", ([queue],))
    return answer


def limit(
    queue: str,
    *,
    concurrency: int | None = None,
    rate: tuple[int, Duration] | None = None,
    key_concurrency: int | None = None,
    key_rate: tuple[int, Duration] | None = None,
) -> Verb[Queue]:
    """Set a queue's limits over all workers, all of them at once; what is left out is lifted.

    `rate=(100, "1m")` lets a hundred jobs start a minute; the `key_` limits hold for each partition key.
    """
    for name, number in (("concurrency", concurrency), ("key_concurrency", key_concurrency)):
        if number is not None:
            check_range(number, name, 1, 32767)
    limits = [_rate(rate, "rate"), _rate(key_rate, "key_rate")]
    return (
        yield from _save_queue(
            queue,
            ["concurrency", "rate", "key_concurrency", "key_rate"],
            concurrency=concurrency,
            rate=limits[0],
            key_concurrency=key_concurrency,
            key_rate=limits[1],
        )
    )


def workers() -> Verb[list[WorkerRow]]:
    """The workers that are there."""
    found = yield Query("list_workers")
    return [WorkerRow(**row) for row in found]


def _save_queue(
    queue: str,
    changes: list[str],
    *,
    paused: bool = False,
    concurrency: int | None = None,
    rate: tuple[int | None, timedelta | None] = (None, None),
    key_concurrency: int | None = None,
    key_rate: tuple[int | None, timedelta | None] = (None, None),
) -> Verb[Queue]:
    check_name(queue, "queue")
    answer = yield Query(
        "save_queue", (queue, changes, paused, concurrency, *rate, key_concurrency, *key_rate)
    )
    return Queue(**answer[0])


def _rate(rate: tuple[int, Duration] | None, field: str) -> tuple[int | None, timedelta | None]:
    if rate is None:
        return None, None
    if not isinstance(rate, tuple | list) or len(rate) != 2:
        raise BadRequest(f'{field} is {rate!r}; give a count and a period, such as (100, "1m").', field=field)
    count, period = rate[0], duration(rate[1], field)
    check_range(count, field, 1, 2**31 - 1)
    if not period:
        raise BadRequest(f"{field} is {rate!r}, but a period of nothing has no rate.", field=field)
    return count, period


def _holder(call: Call, job_id: int | None) -> Generator[Query | Pause, Sequence[Row], Job]:
    """The job that made an insert come back empty-handed, or a fresh try if it is gone by now."""
    if job_id is None:
        found = yield Query("read_holder", ((call.options.unique or "").encode(),))
        job_id = found[0]["id"] if found else None
    if job_id is None:
        return (yield from enqueue_many([call]))[0]
    found = yield Query("read_jobs", ([job_id],))
    if not found:
        return (yield from enqueue_many([call]))[0]
    return replace(rows.job(found[0]), is_new=False)


def _new_job(call: Call, row: Row) -> Job:
    options = call.options
    return Job(
        id=row["id"],
        action=call.action,
        version=call.version,
        state=JobState(row["state"]),
        step=call.step,
        attempt=0,
        queue=call.queue,
        priority=options.priority,
        key=options.key,
        tags=tuple(options.tags),
        input=json.loads(call.state),
        inserted_at=row["inserted_at"],
        run_at=row["eligible_at"],
        expires_at=row["expires_at"],
        reply_to=options.reply_to[0] if options.reply_to else None,
        unique=options.unique,
    )


def _refused(job_id: int, current: str, target: JobState) -> InvalidTransition:
    allowed = can(current)
    return InvalidTransition(
        f"Job {job_id} is {current} and cannot become {target}; allowed now: {', '.join(allowed) or 'nothing'}.",
        current=current,
        target=target,
        allowed=allowed,
    )


def _id(job_id: int) -> int:
    if isinstance(job_id, bool) or not isinstance(job_id, int):
        raise BadRequest(f"A job's id is a whole number, not {job_id!r}.", field="id")
    if not 0 < job_id <= LARGEST_ID:
        raise NotFound(f"There is no job {job_id}.")
    return job_id


def _check_words(text: Any, field: str) -> None:
    if not isinstance(text, str):
        raise BadRequest(f"{field} is {text!r}; it must be text.", field=field)
    codec.dumps(text, field)


def _state(state: JobState | str) -> str:
    try:
        return JobState(state)
    except ValueError as error:
        raise BadRequest(
            f"There is no state {state!r}; it is one of {', '.join(JobState)}.", field="state"
        ) from error
