"""The audit log: a row for each change, written before it runs, and its status afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kairos import json_codec
from kairos.machine.field_checks import LARGEST_ID, check_given_names, check_range
from kairos.shapes import read
from kairos.shapes.audit import AuditRow
from kairos.store.array_literals import plain, texts
from kairos.store.query import Operation, Query


@dataclass(frozen=True, slots=True)
class AuditedRequest:
    """One request for a change; `status` is set if it was refused before it ran."""

    actor: str
    verb: str
    target: str | None
    request_id: str
    status: int | None = None
    details: dict[str, Any] | None = None


def insert_audit(batch: Sequence[AuditedRequest]) -> Query:
    """Return the statement that inserts audit rows and returns their ids in order."""
    return Query(
        "insert_audit",
        (
            texts([each.actor for each in batch]),
            texts([each.verb for each in batch]),
            texts(
                [None if each.target is None else json_codec.printable(each.target, 500) for each in batch]
            ),
            texts([each.request_id for each in batch]),
            plain([each.status for each in batch]),
            texts([_dumps(each.details) for each in batch]),
        ),
    )


@dataclass(frozen=True, slots=True)
class AuditedResponse:
    """The response to an audited request: its audit row and its HTTP status."""

    row: int
    status: int
    details: dict[str, Any] | None = None


def finish_audit(batch: Sequence[AuditedResponse]) -> Query:
    """Return the statement that writes the statuses of requests into their audit rows."""
    return Query(
        "finish_audit",
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
) -> Operation[list[AuditRow]]:
    """Return audit rows, newest first; continue with `before` set to the last id of the page."""
    check_range(limit, "limit", 1, 1000)
    if before is not None:
        check_range(before, "cursor", 1, LARGEST_ID)
    check_given_names(actor=actor, verb=verb, target=target)
    found = yield Query("list_audit", (before, actor, verb, target, limit))
    return [read(AuditRow, row) for row in found]


def _dumps(details: dict[str, Any] | None) -> str | None:
    return None if details is None else json_codec.dumps(details, "details")
