"""One verb for many jobs: what a filter finds, portion by portion, each changed by one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kairos import codec
from kairos.errors import BadRequest
from kairos.fsm.lifecycle import Verb as Change
from kairos.store.query import Query, Row, Verb
from kairos.store.rows import Job
from kairos.verbs.change import tell_cancelled
from kairos.verbs.find import Filters, page

PORTION = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, over which request and why."""

    actor: str | None = None
    request_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """What came of one portion; `next` is where to go on."""

    matched: int
    done: int
    refused: int
    next: int | None


def bulk(
    verb: str, filters: Filters, asked: Asked, *, before: int | None = None, dry_run: bool = False
) -> Verb[Portion]:
    """Apply a verb to at most a thousand of the jobs that a filter finds, newest first.

    A job that is not in a state for it is counted as refused and left as it is.
    """
    if verb not in VERBS:
        raise BadRequest(f"There is no verb {verb!r}; it is one of {', '.join(VERBS)}.", field="verb")
    if asked.reason is not None:
        codec.dumps(asked.reason, "reason")
    found = yield from page(filters, before=before, limit=PORTION, whole=False)
    ids = [job.id for job in found.jobs]
    if dry_run or not ids:
        able = sum(_is_able(job, verb) for job in found.jobs)
        return Portion(len(ids), 0, len(ids) - able, found.next)
    answer = yield from VERBS[verb](ids, asked)
    done = sum(row["done"] for row in answer)
    return Portion(len(ids), done, len(ids) - done, found.next)


def _is_able(job: Job, verb: str) -> bool:
    return job.is_terminal if verb == "delete" else _WORD.get(verb, verb) in job.can


def _cancel(ids: list[int], asked: Asked) -> Verb[Sequence[Row]]:
    rows = yield Query("cancel_jobs", (ids, asked.reason, asked.actor))
    yield from tell_cancelled(rows)
    return rows


def _retry(ids: list[int], asked: Asked) -> Verb[Sequence[Row]]:
    rows = yield Query("retry_jobs", (ids, asked.actor, asked.request_id, None, None, None))
    yield from _hint(rows)
    return rows


def _run_now(ids: list[int], asked: Asked) -> Verb[Sequence[Row]]:
    rows = yield Query("run_jobs_now", (ids, asked.actor))
    yield from _hint(rows)
    return rows


def _delete(ids: list[int], asked: Asked) -> Verb[Sequence[Row]]:
    return (yield Query("delete_jobs", (ids,)))


def _hint(rows: Sequence[Row]) -> Verb[None]:
    yield Query("notify_queues", (sorted({row["queue"] for row in rows if row["done"]}),))


VERBS: dict[str, Callable[[list[int], Asked], Verb[Sequence[Row]]]] = {
    "cancel": _cancel,
    "retry": _retry,
    "run-now": _run_now,
    "delete": _delete,
}
_WORD = {"run-now": str(Change.RUN_NOW)}
