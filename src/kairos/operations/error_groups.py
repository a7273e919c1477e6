"""List failed jobs in groups with the same error."""

from __future__ import annotations

from datetime import datetime

from kairos.machine.field_checks import check_given_names, check_instant
from kairos.shapes import read
from kairos.shapes.error_group import ErrorGroup
from kairos.store.query import Operation, Query

# How many failures of a group are counted: those of a page of groups then take about 50 ms at most.
MOST_COUNTED = 10_000


def error_groups(
    *,
    action: str | None = None,
    queue: str | None = None,
    since: datetime | None = None,
    before: int | None = None,
    limit: int = 50,
) -> Operation[tuple[list[ErrorGroup], int | None]]:
    """Return a page of groups of failures, newest failure first, and the job id to continue before."""
    check_given_names(action=action, queue=queue)
    if since is not None:
        check_instant(since, "since")
    found = yield Query("list_error_groups", (before, limit + 1, action, queue, since, MOST_COUNTED))
    groups = [read(ErrorGroup, row) for row in found[:limit]]
    return groups, found[limit - 1]["newest_id"] if len(found) > limit else None
