"""Enqueue jobs: one, or many in one statement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kairos import telemetry
from kairos.errors import BadRequest, Duplicate
from kairos.fsm.lifecycle import JobState
from kairos.machine.backoff import write_policy
from kairos.machine.call import Call, Options
from kairos.schedule import when
from kairos.shapes import read
from kairos.shapes.job import Job, jobs_like
from kairos.store.array_literals import instants, microseconds, plain, texts
from kairos.store.query import Notify, Operation, Query, Row

_MICROSECOND = timedelta(microseconds=1)
_STATES = {state.value: state for state in JobState}  # a batch reads thousands, and calling the class costs


def enqueue(call: Call) -> Operation[Job]:
    """Insert one job; a taken unique key raises `Duplicate`, or returns its holder with `if_taken="return"`."""
    job = (yield from enqueue_many([call]))[0]
    if not job.is_new and call.options.if_taken == "raise":
        raise Duplicate(
            f"Job {job.id} holds the unique key {call.options.unique!r} and is {job.state}.", job=job
        )
    return job


def enqueue_many(calls: Iterable[Call]) -> Operation[list[Job]]:
    """Insert many jobs in one statement; each answer says by `is_new` whether it was inserted or already there."""
    if not isinstance(calls, Iterable):
        raise BadRequest(
            f"Enqueue many calls as a list, such as [send.call(user_id=7)], not {calls!r}.", field="calls"
        )
    batch = list(calls)
    for call in batch:
        if not isinstance(call, Call):
            raise BadRequest(f"Enqueue a call such as send.call(user_id=7), not {call!r}.", field="call")
    if not batch:
        return []
    batch = yield from timed(batch)
    query = insert(batch)
    answer = yield query
    here, jobs = telemetry.traceparent(), []
    # One call decodes all of them: a thousand small texts take four times as long one by one.
    inputs = json.loads(f"[{','.join([call.state for call in batch])}]")
    if query.name == "insert_alike_jobs":
        yield Notify(queues=(batch[0].queue,))
        row = answer[0]
        return jobs_like(_new_job(batch[0], row["ids"][0], row, inputs[0], here), row["ids"], inputs)
    yield Notify(queues={call.queue for call, row in zip(batch, answer, strict=True) if row["is_new"]})
    for call, row, given in zip(batch, answer, inputs, strict=True):
        jobs.append(
            _new_job(call, row["id"], row, given, here)
            if row["is_new"]
            else (yield from _holder(call, row["id"]))
        )
    return jobs


def timed(batch: list[Call]) -> Operation[list[Call]]:
    """Return the calls with each `when` text replaced by an instant, computed with the database's clock."""
    if all(call.options.when is None for call in batch):
        return batch
    now = (yield Query("read_now"))[0]["now"]
    return [
        call
        if call.options.when is None
        else replace(call, options=replace(call.options, when=None, run_at=instant(call.options, now)))
        for call in batch
    ]


def instant(options: Options, now: datetime) -> datetime:
    """Return the instant of the option `when`; raise if it recurs, since only a schedule can."""
    ticks = when(options.when or "", now=now, tz=options.tz).ticks(after=now, limit=2)
    if len(ticks) > 1:
        raise BadRequest(
            f"{options.when!r} comes more than once: add a schedule, or name one time.", field="when"
        )
    return ticks[0]


def insert(batch: Sequence[Call]) -> Query:
    """Return the statement that inserts a batch; the caller notifies the queues."""
    if _are_alike(batch):
        return _insert_alike(batch)
    options = [call.options for call in batch]
    here = telemetry.traceparent()
    return Query(
        "insert_jobs",
        (
            texts([call.action for call in batch]),
            plain([call.version for call in batch]),
            texts([call.step for call in batch]),
            texts([call.state for call in batch]),
            texts([call.queue for call in batch]),
            plain([given.priority for given in options]),
            texts([given.key_text for given in options]),
            plain([given.ordered or None for given in options]),
            instants(given.run_at for given in options),
            microseconds(given.delay_by for given in options),
            microseconds(call.job_ttl for call in batch),
            instants(given.expires_at for given in options),
            texts([given.unique for given in options]),
            texts([texts(given.scope) if given.unique else None for given in options]),
            plain([given.reply_to[0] if given.reply_to else None for given in options]),
            texts([given.reply_to[1] if given.reply_to else None for given in options]),
            texts([texts(given.tags) for given in options]),
            plain([given.max_reaps for given in options]),
            texts([given.actor for given in options]),
            texts([given.request_id for given in options]),
            texts([given.trace or here for given in options]),
            texts([texts(call.redact) if call.redact else None for call in batch]),
            texts([write_policy(given.retry) for given in options]),
            texts([texts(call.search) if call.search else None for call in batch]),
            plain([given.retry_of for given in options]),
        ),
    )


def _are_alike(batch: Sequence[Call]) -> bool:
    """Whether all are calls of one action with the same options object, and can be inserted by the short statement.

    That statement knows no keys, no searchable arguments and no `retry_of`.
    """
    first = batch[0]
    options, action, version, queue = first.options, first.action, first.version, first.queue
    if options.key is not None or options.unique is not None or options.retry_of is not None or first.search:
        return False
    return len(batch) == 1 or all(
        call.options is options and call.action == action and call.version == version and call.queue == queue
        for call in batch
    )


def _insert_alike(batch: Sequence[Call]) -> Query:
    call, given = batch[0], batch[0].options
    return Query(
        "insert_alike_jobs",
        (
            call.action,
            str(call.version),
            call.step,
            texts([each.state for each in batch]),
            call.queue,
            str(given.priority),
            None if given.run_at is None else given.run_at.isoformat(),
            _microseconds(given.delay_by),
            _microseconds(call.job_ttl),
            None if given.expires_at is None else given.expires_at.isoformat(),
            str(given.reply_to[0]) if given.reply_to else None,
            given.reply_to[1] if given.reply_to else None,
            texts(given.tags) if given.tags else None,
            str(given.max_reaps),
            given.actor,
            given.request_id,
            given.trace or telemetry.traceparent(),
            texts(call.redact) if call.redact else None,
            write_policy(given.retry),
        ),
    )


def _microseconds(length: timedelta | None) -> str | None:
    return None if length is None else str(length // _MICROSECOND)


def _holder(call: Call, job_id: int | None) -> Operation[Job]:
    """Return the job that holds the unique key of a call, or insert the call again if that job is gone."""
    if job_id is None:
        found = yield Query("read_unique_holder", ((call.options.unique or "").encode(),))
        job_id = found[0]["id"] if found else None
    if job_id is None:
        return (yield from enqueue_many([call]))[0]
    found = yield Query("read_jobs", ([job_id],))
    if not found:
        return (yield from enqueue_many([call]))[0]
    return read(Job, found[0], is_new=False)


def _new_job(call: Call, job_id: int, row: Row, given: Any, here: str | None) -> Job:
    options = call.options
    return Job(
        id=job_id,
        action=call.action,
        version=call.version,
        state=_STATES[row["state"]],
        step=call.step,
        attempt=0,
        queue=call.queue,
        priority=options.priority,
        key=options.key_text,
        tags=tuple(options.tags),
        input=given,
        machine_state=given,
        inserted_at=row["inserted_at"],
        run_at=row["eligible_at"],
        expires_at=row["expires_at"],
        retry=options.retry,
        retry_of=options.retry_of,
        reply_to=options.reply_to[0] if options.reply_to else None,
        unique=options.unique,
        created_by=options.actor,
        request_id=options.request_id,
        trace=options.trace or here,
        redact=call.redact,
    )
