"""Finding jobs: newest first, by any filter, in walks of bounded length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kairos.errors import BadRequest
from kairos.fsm.lifecycle import STORED, JobState
from kairos.machine.names import LARGEST_ID, check_instant, check_name, check_range
from kairos.store import rows
from kairos.store.query import Query, Verb
from kairos.store.rows import Job, Page

LARGEST_PAGE = 10_000

# How many rows one page looks at, where a filter has no index of its own: about 5 ms. A page may then come up short,
# or empty, and say where to go on: the price of a list must not depend on how rare a thing is asked for.
_WALK = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a job must be to be listed; `text` is looked for in its action, key, tags, unique key and error."""

    state: JobState | str | Sequence[JobState | str] | None = None
    action: str | None = None
    queue: str | None = None
    key: str | None = None
    tag: str | None = None
    schedule: str | None = None
    text: str | None = None
    inserted_from: datetime | None = None
    inserted_to: datetime | None = None

    def __post_init__(self) -> None:
        for field in ("action", "queue", "key", "tag", "schedule", "text"):
            if (name := getattr(self, field)) is not None:
                check_name(name, field)
        for field, shown in (("inserted_from", "from"), ("inserted_to", "to")):
            if (instant := getattr(self, field)) is not None:
                check_instant(instant, shown)
        object.__setattr__(self, "state", _states(self.state))

    @property
    def statuses(self) -> list[str] | None:
        """The stored statuses of the states asked for."""
        states: Any = self.state
        return None if states is None else sorted({str(STORED[state]) for state in states})

    @property
    def exact(self) -> bool:
        """Whether the index that is walked holds nothing but what is asked for."""
        others: list[Any] = [self.queue, self.tag, self.text, self.inserted_from, self.inserted_to]
        lead: list[Any] = [each for each in (self.key, self.schedule) if each is not None]
        if lead:
            others.extend([*lead[1:], self.action, self.state])
        return all(each is None for each in others) and (self.state is None or self._whole)

    @property
    def _whole(self) -> bool:
        """Whether every state that is stored as one asked for is asked for too."""
        states: Any = self.state
        return {state for state in JobState if STORED[state] in {STORED[each] for each in states}} == set(
            states
        )


def page(filters: Filters, *, before: int | None = None, limit: int = 50, whole: bool = True) -> Verb[Page]:
    """One page of a list, and where to go on; `whole` False leaves out what jobs hold."""
    check_range(limit, "limit", 1, LARGEST_PAGE)
    if before is not None:
        check_range(before, "before", 1, LARGEST_ID)
    walk = limit + 1 if filters.exact else max(limit + 1, _WALK)
    found = yield _list(filters, before, walk, limit + 1, whole)
    if filters.tag is not None and found[0]["more"] and len(found) <= limit:
        # It is not everywhere. Where it is rare, its own index knows every job that has it.
        tagged = yield Query("tagged_jobs", (filters.tag, before, _WALK + 1))
        if len(tagged) <= _WALK:
            ids = [row["id"] for row in tagged]
            found = yield _list(filters, before, len(ids) + 1, limit + 1, whole, ids)
    jobs = [rows.job(row) for row in found if row["id"] is not None]
    if len(jobs) > limit:
        return Page(jobs[:limit], jobs[limit - 1].id)
    return Page(jobs, found[0]["walked"] if found[0]["more"] else None)


def list_jobs(*, before: int | None = None, limit: int = 50, **filters: Any) -> Verb[list[Job]]:
    """Jobs, newest first; go on with `before` set to the last id of the page."""
    check_range(limit, "limit", 1, LARGEST_PAGE)
    wanted = _filters(filters)
    jobs: list[Job] = []
    while True:
        found = yield from page(wanted, before=before, limit=limit - len(jobs))
        jobs += found.jobs
        if len(jobs) == limit or found.next is None:
            return jobs
        before = found.next


def _filters(given: dict[str, Any]) -> Filters:
    try:
        return Filters(**given)
    except TypeError as error:
        raise BadRequest(f"There is no such filter: {error}.") from error


def _list(
    filters: Filters, before: int | None, walk: int, limit: int, whole: bool, among: list[int] | None = None
) -> Query:
    states: Any = filters.state
    return Query(
        "list_jobs",
        (
            before,
            filters.statuses,
            None if states is None else [str(state) for state in states],
            filters.action,
            filters.queue,
            filters.key,
            filters.tag,
            filters.schedule,
            filters.text,
            filters.inserted_from,
            filters.inserted_to,
            among,
            walk,
            limit,
            whole,
        ),
    )


def _states(given: Any) -> list[JobState] | None:
    if given is None:
        return None
    asked = [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
    try:
        return [JobState(state) for state in asked] or None
    except ValueError as error:
        raise BadRequest(
            f"There is no state {given!r}; it is one of {', '.join(JobState)}.", field="state"
        ) from error
