"""List jobs by filters, newest first, and count them by state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kairos.fsm.lifecycle import JobState
from kairos.machine.field_checks import LARGEST_ID, check_range
from kairos.shapes import read
from kairos.shapes.job import Job, Page
from kairos.shapes.job_filters import MOST_SEARCHES, Filters, search_too_long
from kairos.store.query import Operation, Query, Row

LARGEST_PAGE = 10_000
# Counting goes no further than this for each state.
MOST_COUNTED = 10_000

# How many rows a page examines where no index matches the filters exactly: about 3 ms. The page then reports how far
# it searched, so that the cost of a list does not depend on how rare the wanted jobs are.
MAX_SCANNED = 2000
# How many of the newest rows are examined before the index of tags, error words or due times is read: if many jobs
# match, these rows fill the page.
_EXAMINED_FIRST = 400
# How many ids are read from an index that is not ordered by id, and sorted: about 5 ms. If there are more, such jobs
# are common, and the newest rows are examined instead.
MAX_GATHERED = 5000
# How many ids are sorted where all of them are known to match: about 5 ms.
MAX_SORTED = 15_000
# How many jobs are counted where no index can count.
COUNTED_SAMPLE = 500


@dataclass(frozen=True, slots=True)
class Counts:
    """How many jobs there are in each state, and which states may have more."""

    states: Mapping[str, int]
    at_least: tuple[str, ...]


def page(
    filters: Filters, *, before: int | None = None, limit: int = 50, whole: bool = True
) -> Operation[Page]:
    """Return one page and where to continue; `whole=False` leaves out the input, state and output of the jobs."""
    check_range(limit, "limit", 1, LARGEST_PAGE)
    if before is not None:
        check_range(before, "before", 1, LARGEST_ID)
    asks_for_failures = filters.error is not None or filters.error_text is not None
    if asks_for_failures and JobState.FAILED not in (filters.state or (JobState.FAILED,)):
        return Page([], None)
    if filters.error_text is not None:
        filters = filters.of_states([JobState.FAILED])  # no other job has such words
    wanted = filters.due
    others = [state for state in filters.state or () if state != wanted]
    if wanted is None or not others:
        return (yield from _page(filters, before, limit, whole))
    # Pending and scheduled jobs have the same stored status, and are told apart by another index.
    known = yield from _page(filters.of_states(others), before, limit, whole)
    due = yield from _page(filters.of_states([wanted]), before, limit, whole)
    return _merged([known, due], limit)


def list_jobs(*, before: int | None = None, limit: int = 50, **filters: Any) -> Operation[list[Job]]:
    """Return jobs, newest first; continue with `before` set to the last id of the page.

    Raise `BadRequest` if too many jobs would have to be examined because no index matches the filters.
    """
    check_range(limit, "limit", 1, LARGEST_PAGE)
    wanted = Filters.of(filters)
    jobs: list[Job] = []
    searches = 0
    while True:
        found = yield from page(wanted, before=before, limit=limit - len(jobs))
        jobs += found.jobs
        if len(jobs) == limit or found.next is None:
            return jobs
        before = found.next
        searches += found.searched_to is not None
        if found.searched_to is not None and searches == MOST_SEARCHES:
            raise search_too_long(wanted.given, len(jobs), found.searched_to, f"before={before}")


def counts(filters: Filters) -> Operation[Counts]:
    """Count the jobs that match the filters in each state, ignoring the filter `state`."""
    wanted = filters.of_states([])
    uncertain: Iterable[JobState] = ()
    if wanted.countable:
        rows = yield Query("count_jobs", (MOST_COUNTED, *wanted.countable_parameters, MAX_GATHERED))
        found = {row["state"]: row["jobs"] for row in rows}
        if _split_waiting(found):
            uncertain = (JobState.PENDING, JobState.SCHEDULED)
    else:
        ids = None
        if wanted.given == {"tag"}:
            ids = yield from _gather_ids(_tagged(wanted, None))
        elif wanted.given == {"error_text"}:
            ids = yield from _gather_ids(_failed(wanted, None))
        if ids is not None:
            rows = yield Query("count_jobs_by_id", (ids,))
            found = {row["state"]: row["jobs"] for row in rows}
        else:
            sample = yield from page(wanted, limit=COUNTED_SAMPLE, whole=False)
            uncertain, found = JobState if sample.next is not None else (), {}
            for job in sample.jobs:
                found[job.state] = found.get(job.state, 0) + 1
    states = {str(state): min(found.get(state, 0), MOST_COUNTED) for state in JobState}
    more = {state for state, jobs in found.items() if jobs > MOST_COUNTED}.union(uncertain)
    return Counts(states, tuple(str(state) for state in JobState if state in more))


def _split_waiting(found: dict[str, int]) -> bool:
    """Split the count of `runnable` into pending and scheduled; return whether there may be more.

    If one of them was counted completely, the other is the rest.
    """
    both, due, later = (found.pop(name, 0) for name in ("runnable", "due", "later"))
    is_due_unread, is_later_unread = (found.pop(f"{name} unread", 0) > 0 for name in ("due", "later"))
    if not both:
        return False
    if not is_due_unread:
        later = max(0, min(both, MOST_COUNTED) - due)
    elif not is_later_unread:
        due = max(0, min(both, MOST_COUNTED) - later)
    found.update({JobState.PENDING: due, JobState.SCHEDULED: later})
    return both > MOST_COUNTED or (is_due_unread and is_later_unread)


def _page(filters: Filters, before: int | None, limit: int, whole: bool) -> Operation[Page]:
    """Return a page from an index in the order of ids, or from one that is not, whose ids are sorted here."""
    if filters.exact:
        return _read((yield _list(filters, before, limit + 1, limit + 1, whole)), limit)
    ids: list[int] | None = None
    gathered = _failed if filters.error_text is not None else _tagged if filters.tag is not None else None
    # Few jobs are pending as long as the workers keep up.
    is_due = filters.due is JobState.PENDING and filters.input is None
    if filters.input is not None:
        asked = Query("find_jobs_by_argument", (filters.input, filters.action, before, MAX_GATHERED + 1))
        ids = yield from _gather_ids(asked)
    if ids is None and (is_due or gathered is not None):
        found = yield _list(
            filters, before, max(limit + 1, min(_EXAMINED_FIRST, MAX_SCANNED)), limit + 1, whole
        )
        if len(found) > limit or not found[0]["more"]:
            return _read(found, limit)
        if is_due:
            ids = yield from _due(filters, before, limit)
        if ids is None and gathered is not None:
            ids = yield from _gather_ids(gathered(filters, before))
    if ids is None:
        found = yield _list(filters, before, max(limit + 1, MAX_SCANNED), limit + 1, whole)
        if len(found) > limit or not found[0]["more"]:
            return _read(found, limit)
        # Too few of the newest jobs match. If the wanted ones are rare, another index finds all of them.
        if filters.due is JobState.SCHEDULED:
            ids = yield from _due(filters, before, limit)
        if ids is None:
            return _read(found, limit)
    page = _read((yield _list(filters, before, len(ids) + 1, limit + 1, whole, ids)), limit)
    if page.next is None and len(ids) >= _most_due(filters, limit):
        return Page(page.jobs, ids[-1])  # some were picked or came due meanwhile; there are older ones
    return page


def _tagged(filters: Filters, before: int | None) -> Query:
    return Query("find_jobs_by_tag", (filters.tag, before, MAX_GATHERED + 1))


def _failed(filters: Filters, before: int | None) -> Query:
    return Query("find_jobs_by_error_words", (filters.error_text, before, MAX_GATHERED + 1))


def _due(filters: Filters, before: int | None, limit: int) -> Operation[list[int] | None]:
    """Return the ids of the newest pending or scheduled jobs; None if there are too many."""
    most = MAX_SORTED if filters.given <= {"state", "queue"} else MAX_GATHERED
    due = filters.due is JobState.PENDING
    asked = (due, before, filters.queue, most, _most_due(filters, limit))
    return (yield from _gather_ids(Query("find_due_jobs", asked)))


def _most_due(filters: Filters, limit: int) -> int:
    """Return how many of the newest ids are enough for a page; with other filters, all of them."""
    return 2 * limit + 50 if filters.given <= {"state", "queue"} else MAX_GATHERED + 1


def _gather_ids(query: Query) -> Operation[list[int] | None]:
    """Return the ids that a statement finds, newest first; None if there are too many or it has no index."""
    found = yield query
    too_many = (
        any(row["too_many"] for row in found)
        if found and "too_many" in found[0]
        else len(found) > MAX_GATHERED
    )
    if too_many or (found and found[0].get("declared") is False):
        return None
    return sorted((row["id"] for row in found if row["id"] is not None), reverse=True)


def _read(found: Sequence[Row], limit: int) -> Page:
    jobs = [read(Job, row) for row in found if row["id"] is not None]
    if len(jobs) > limit:
        return Page(jobs[:limit], jobs[limit - 1].id)
    more = found[0]["more"]
    return Page(jobs, found[0]["walked"] if more else None, found[0]["walked_at"] if more else None)


def _merged(parts: list[Page], limit: int) -> Page:
    """Merge several pages into one, down to the highest id at which one of them ends."""
    last = max((each.next for each in parts if each.next is not None), default=None)
    jobs = sorted(
        (job for each in parts for job in each.jobs if last is None or job.id >= last),
        key=lambda job: -job.id,
    )
    if len(jobs) > limit:
        return Page(jobs[:limit], jobs[limit - 1].id)
    searched = max((each.searched_to for each in parts if each.searched_to is not None), default=None)
    return Page(jobs, last, searched)


def _list(
    filters: Filters,
    before: int | None,
    scanned: int,
    limit: int,
    whole: bool,
    among: list[int] | None = None,
) -> Query:
    return Query("list_jobs", (before, among, scanned, limit, whole, filters.statuses, *filters.parameters))
