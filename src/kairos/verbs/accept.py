"""Accepting jobs: one, or many in one statement."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kairos import telemetry
from kairos.errors import BadRequest, Duplicate
from kairos.fsm.lifecycle import JobState
from kairos.machine.call import Call, Options
from kairos.schedule import when
from kairos.store import rows
from kairos.store.columns import instants, microseconds, plain, texts
from kairos.store.query import Pause, Query, Row, Verb
from kairos.store.rows import Job

_STATES = {state.value: state for state in JobState}  # a batch reads thousands, and calling the class costs


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
    batch = yield from timed(batch)
    answer = yield insert(batch)
    here, jobs = telemetry.traceparent(), []
    # At once: a thousand small texts take four times as long one by one.
    inputs = json.loads(f"[{','.join([call.state for call in batch])}]")
    for call, row, given in zip(batch, answer, inputs, strict=True):
        jobs.append(
            _new_job(call, row, given, here) if row["is_new"] else (yield from _holder(call, row["id"]))
        )
    return jobs


def timed(batch: list[Call]) -> Verb[list[Call]]:
    """The batch with every time in words made an instant, by the only clock."""
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
    """The one instant that an option `when` means; a recurrence is a schedule's business."""
    ticks = when(options.when or "", now=now, tz=options.tz).ticks(after=now, limit=2)
    if len(ticks) > 1:
        raise BadRequest(
            f"{options.when!r} comes more than once: add a schedule, or name one time.", field="when"
        )
    return ticks[0]


def insert(batch: Sequence[Call]) -> Query:
    """The insert itself, as the worker uses it too for the children of a step."""
    options = [call.options for call in batch]
    here = telemetry.traceparent()
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
            texts([given.actor for given in options]),
            texts([given.request_id for given in options]),
            texts([given.trace or here for given in options]),
            texts([texts(call.redact) if call.redact else None for call in batch]),
            texts([None if given.retry is None else json.dumps(given.retry.as_json()) for given in options]),
        ),
        pokes=frozenset(call.queue for call in batch),
    )


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


def _new_job(call: Call, row: Row, given: Any, here: str | None) -> Job:
    options = call.options
    return Job(
        id=row["id"],
        action=call.action,
        version=call.version,
        state=_STATES[row["state"]],
        step=call.step,
        attempt=0,
        queue=call.queue,
        priority=options.priority,
        key=options.key,
        tags=tuple(options.tags),
        input=given,
        inserted_at=row["inserted_at"],
        run_at=row["eligible_at"],
        expires_at=row["expires_at"],
        retry=options.retry,
        reply_to=options.reply_to[0] if options.reply_to else None,
        unique=options.unique,
        created_by=options.actor,
        request_id=options.request_id,
        trace=options.trace or here,
        redact=call.redact,
    )
