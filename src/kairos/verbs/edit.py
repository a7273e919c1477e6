"""Changing how a job that waits for a worker is scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kairos.durations import duration
from kairos.errors import BadRequest, InvalidTransition, NotFound
from kairos.fsm.lifecycle import JobState, can
from kairos.machine.call import check_end
from kairos.machine.names import check_instant, check_name, check_queue, check_range
from kairos.store.query import Query, Verb
from kairos.store.rows import Job
from kairos.verbs.read import get, job_number

CHANGES = ("priority", "queue", "tags", "run_at", "ttl", "expires_at")


def edit(job_id: int, changes: Mapping[str, Any], *, actor: str | None = None) -> Verb[Job]:
    """Change `priority`, `queue`, `tags`, `run_at`, `ttl` or `expires_at` of a job that no worker has taken.

    A None lifts a `ttl` or an `expires_at`. What is due cannot be put off: the lifecycle has no such change.
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
        "edit_job",
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
    if not found:
        raise NotFound(f"There is no job {job_id}.")
    if not found[0]["edited"]:
        raise _refused(job_id, found[0]["state"], waits=found[0]["waits"])
    job = yield from get(job_id)
    yield Query("notify_queues", ([job.queue],))
    return job


def _check(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise BadRequest(f"There is nothing to change: give some of {', '.join(CHANGES)}.")
    if unknown := set(changes) - set(CHANGES):
        raise BadRequest(f"{min(unknown)} of a job cannot be changed.", field=min(unknown))
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
        if not isinstance(changes["tags"], list | tuple):
            raise BadRequest(f"tags is {changes['tags']!r}; give a list of texts.", field="tags")
        for tag in changes["tags"]:
            check_name(tag, "tags")


def _refused(job_id: int, state: str, *, waits: bool) -> InvalidTransition:
    why = (
        f"Job {job_id} is {state}: it is due, and cannot be put off"
        if waits
        else f"Job {job_id} is {state}, and only one that waits for a worker can be changed"
    )
    return InvalidTransition(
        f"{why}; allowed now: {', '.join(can(state)) or 'nothing'}.",
        current=state,
        target=JobState.SCHEDULED,
        allowed=can(state),
    )
