"""Change the schedule, priority, queue or tags of a job that no worker has picked yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kairos.durations import duration
from kairos.errors import BadRequest
from kairos.fsm.requests import REQUESTS
from kairos.machine.call import check_end
from kairos.machine.field_checks import check_instant, check_queue, check_range, check_tags
from kairos.operations.change_jobs import one
from kairos.operations.read_jobs import get, job_number
from kairos.shapes.job import Job
from kairos.store.query import Notify, Operation, Query
from kairos.suggest import did_you_mean

_EDIT = REQUESTS["edit"]


def edit(job_id: int, changes: Mapping[str, Any], *, actor: str | None = None) -> Operation[Job]:
    """Change `priority`, `queue`, `tags`, `run_at`, `ttl` or `expires_at` of a job that no worker has taken.

    None removes a `ttl` or an `expires_at`. To postpone a job that is due, use `snooze`.
    """
    number = job_number(job_id)
    _check(changes)
    ttl = None if changes.get("ttl") is None else duration(changes["ttl"], "ttl")
    if {"ttl", "run_at"} & changes.keys():
        job = yield from get(job_id)
        assert job.run_at is not None
        kept = None if job.expires_at is None else job.expires_at - job.run_at
        check_end(changes.get("run_at", job.run_at), ttl if "ttl" in changes else kept)
    found = yield Query(
        _EDIT.statement,
        (
            number,
            list(changes),
            changes.get("priority"),
            changes.get("queue"),
            list(changes.get("tags") or ()),
            changes.get("run_at"),
            ttl,
            changes.get("expires_at"),
            actor,
        ),
    )
    one(found, _EDIT, job_id)
    job = yield from get(job_id)
    yield Notify(queues=[job.queue])
    return job


def _check(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise BadRequest(f"There is nothing to change: give some of {', '.join(_EDIT.fields)}.")
    if unknown := set(changes) - set(_EDIT.fields):
        raise BadRequest(
            f"{min(unknown)!r} of a job cannot be changed.{did_you_mean(min(unknown), _EDIT.fields)}",
            field=min(unknown),
        )
    if "ttl" in changes and "expires_at" in changes:
        raise BadRequest("ttl and expires_at say the same thing twice: give one of them.", field="ttl")
    if "priority" in changes:
        check_range(changes["priority"], "priority", -32768, 32767)
    if "queue" in changes:
        check_queue(changes["queue"], "a job")
    if "run_at" in changes:
        check_instant(changes["run_at"], "run_at")
    if changes.get("expires_at") is not None:
        check_instant(changes["expires_at"], "expires_at")
    if "tags" in changes:
        check_tags(changes["tags"])
