"""The requests of `fsm/requests.py` as operations: one statement each, for one job or for many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, cast

from kairos import json_codec
from kairos.durations import duration
from kairos.errors import BadRequest, Conflict, Duplicate, InboxFull, InvalidTransition, NotFound
from kairos.fsm.requests import REQUESTS, JobRequest, can
from kairos.machine.field_checks import check_given_names, check_instant, check_name
from kairos.operations.read_jobs import get, job_number
from kairos.shapes.job import Job
from kairos.store.query import Notify, Operation, Query, Row

# Accepted with every request, and stored by those whose statement has a parameter for it.
_ORIGIN = frozenset({"actor", "request_id", "trace", "reason"})


def move(name: str, job_id: int, **details: Any) -> Operation[Job]:
    """Make a request that moves a job, such as `cancel`, and return the job afterwards.

    Raises `InvalidTransition` where the table does not allow it.
    """
    row = yield from request_one(REQUESTS[name], job_id, details)
    job = yield from get(job_id)
    yield from notify([row])
    return job


cancel = partial(move, "cancel")
run_now = partial(move, "run_now")


def retry(job_id: int, **details: Any) -> Operation[Job]:
    """Make a new job from the first input of one that ended; `retry_of` names the old one.

    It begins at `step`, or if that is not given, where the old one began.
    """
    old = yield from request_one(REQUESTS["retry"], job_id, details)
    if not old["done"] and old["holder"] is None:
        # The holder of the unique key released it in between: the key is free now.
        return (yield from retry(job_id, **details))
    if not old["done"]:
        holder = yield from get(old["holder"])
        raise Duplicate(
            f"Job {holder.id} holds the unique key of job {job_id} and is {holder.state}.", job=holder
        )
    job = yield from get(old["made"])
    yield from notify([old])
    return job


def delete(job_id: int) -> Operation[None]:
    """Delete a job that ended, with its history, signals and logs; the statistics go on counting it."""
    yield from request_one(REQUESTS["delete"], job_id, {})


def signal(
    target: int | str,
    name: str,
    payload: Any = None,
    *,
    dedup_key: str | None = None,
    actor: str | None = None,
) -> Operation[str]:
    """Send a signal to a job by id or by the unique key it holds.

    Returns "woke", "delivered" (it waits in the inbox) or "duplicate"; raises `Conflict` if the job has ended,
    and `InboxFull` if its inbox is full.
    """
    check_name(name, "name")
    check_given_names(dedup_key=dedup_key)
    if isinstance(target, str):
        check_name(target, "target")
    by_id, by_key = (None, target.encode()) if isinstance(target, str) else (job_number(target), None)
    body = json_codec.dumps({} if payload is None else payload, "payload")
    answer = (yield Query("deliver_signal", (by_id, by_key, name, body, dedup_key, actor)))[0]
    match answer["answer"]:
        case "unknown":
            raise NotFound(f"There is no live job {target!r} to send {name!r} to.")
        case "finished":
            job = yield from get(answer["id"])
            raise Conflict(f"Job {job.id} is {job.state} and takes no more signals; {name!r} was not stored.")
        case "full":
            raise InboxFull(
                f"The inbox of job {answer['id']} is full: {name!r} was not stored. It holds at most "
                f"{answer['most_signals']} signals and {answer['most_bytes']} bytes; send it again once the job has "
                "taken some."
            )
        case "woke":
            job = yield from get(answer["id"])
            yield Notify(queues=[job.queue])
    return str(answer["answer"])


def request_one(request: JobRequest, job_id: int, details: Mapping[str, Any]) -> Operation[Row]:
    """Run a request's statement for one job and return its row, or raise why it was refused."""
    rows = yield Query(request.statement, ([job_number(job_id)], *arguments(request, details)))
    return one(rows, request, job_id)


def one(rows: Sequence[Row], request: JobRequest, job_id: int) -> Row:
    """Return the only row; raise `NotFound` or `InvalidTransition` if the request was refused."""
    if not rows:
        raise NotFound(f"There is no job {job_id}.")
    state, why = rows[0]["state"], rows[0].get("why")
    if rows[0]["done"] or (state in request.allowed_in and not why):
        return rows[0]
    allowed = can(state)
    raise InvalidTransition(
        f"Job {job_id} is {state} and cannot be {request.done}"
        + (f": {why}." if why else f"; allowed now: {', '.join(allowed)}."),
        current=state,
        target=request.target or request.name,
        allowed=allowed,
    )


def notify(rows: Sequence[Row]) -> Operation[None]:
    """Notify the workers of what a request did, and release jobs that were held behind a key that it freed."""
    done = [row for row in rows if row["done"]]
    queues = {row["queue"] for row in done if row.get("queue")}
    if keys := {row["freed_key"] for row in done if row.get("freed_key") is not None}:
        opened = yield Query("open_keys", (sorted(keys),))
        queues |= {row["queue"] for row in opened}
    yield Notify(queues=queues, cancelled=[row["id"] for row in done if row.get("running")])


def arguments(request: JobRequest, details: Mapping[str, Any]) -> tuple[Any, ...]:
    """Validate the details of a request, and return them as the parameters of its statement after the ids."""
    given = {name: value for name, value in details.items() if value is not None}
    if unknown := given.keys() - {*request.fields, *request.context} - _ORIGIN:
        raise BadRequest(f"{request.name} takes no {min(unknown)}.", field=min(unknown))
    if "until" in request.fields and ("delay" in given) == ("until" in given):
        raise BadRequest(f"{request.name} takes either delay or until: give one of them.", field="delay")
    checked = {name: _CHECKS[name](given[name], name) for name in request.fields if name in given}
    return tuple((given | checked).get(name) for name in (*request.fields, *request.context))


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{field} is {value!r}; it must be text.", field=field)
    json_codec.dumps(value, field)
    return value


def _instant(value: Any, field: str) -> datetime:
    check_instant(value, field)
    return cast("datetime", value)


_CHECKS: dict[str, Callable[[Any, str], Any]] = {"delay": duration, "until": _instant, "reason": _text}
