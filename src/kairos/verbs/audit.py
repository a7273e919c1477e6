"""The audit log: what was asked for, put down before it is tried, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kairos import codec
from kairos.durations import Duration, duration
from kairos.machine.names import LARGEST_ID, check_name, check_range
from kairos.store.columns import plain, texts
from kairos.store.query import Query, Verb


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a change; `status` is given if it was refused at the door."""

    actor: str
    verb: str
    target: str | None
    request_id: str
    status: int | None = None
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """`status` None: nobody knows how it ended."""

    id: int
    at: datetime
    actor: str
    verb: str
    target: str | None
    request_id: str
    status: int | None
    details: Any


def put_down(batch: Sequence[Asked]) -> Query:
    """The statement that puts down a batch of requests, and answers their ids in order."""
    return Query(
        "insert_audit",
        (
            texts([each.actor for each in batch]),
            texts([each.verb for each in batch]),
            texts([None if each.target is None else codec.printable(each.target, 500) for each in batch]),
            texts([each.request_id for each in batch]),
            plain([each.status for each in batch]),
            texts([_dumps(each.details) for each in batch]),
        ),
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """How one request ended: the row it was put down in, the status it was answered with."""

    row: int
    status: int
    details: dict[str, Any] | None = None


def ended(batch: Sequence[Ended]) -> Query:
    """The statement that puts down how requests ended."""
    return Query(
        "end_audit",
        (
            plain([each.row for each in batch]),
            plain([each.status for each in batch]),
            texts([_dumps(each.details) for each in batch]),
        ),
    )


def audit(
    *,
    actor: str | None = None,
    verb: str | None = None,
    target: str | None = None,
    before: int | None = None,
    limit: int = 50,
) -> Verb[list[AuditRow]]:
    """Who asked for what, newest first; go on with `before` set to the last id of the page."""
    check_range(limit, "limit", 1, 1000)
    if before is not None:
        check_range(before, "cursor", 1, LARGEST_ID)
    for field, name in (("actor", actor), ("verb", verb), ("target", target)):
        if name is not None:
            check_name(name, field)
    found = yield Query("list_audit", (before, actor, verb, target, limit))
    return [AuditRow(**{**row, "details": _loads(row["details"])}) for row in found]


def forget_audit(keep: Duration, portion: int = 1000) -> Verb[int]:
    """Delete what is older than `keep`, a portion at a time; needs the right to, which the service has not."""
    answer = yield Query("forget_audit", (duration(keep, "keep"), portion))
    return int(answer[0]["forgotten"])


def _dumps(details: dict[str, Any] | None) -> str | None:
    return None if details is None else codec.dumps(details, "details")


def _loads(text: str | None) -> Any:
    return None if text is None else json.loads(text)
