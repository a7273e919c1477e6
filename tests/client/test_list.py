"""Lists of jobs: newest first, by any filter, page by page without a gap or a repeat."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.actions import in_state
from tests.shared_database import unguarded

from kairos import JobState, Kairos
from kairos.errors import BadRequest


async def ids(app: Kairos, **filters: Any) -> list[int]:
    return [job.id for job in await app.jobs(**filters)]


async def fill(app: Kairos, count: int, **options: Any) -> list[int]:
    calls = (app.action("echo").options(**options).call(n) for n in range(count))
    return [job.id for job in await app.enqueue_many(calls)]


async def pages(app: Kairos, size: int) -> list[list[int]]:
    found: list[list[int]] = []
    while page := await ids(app, limit=size, before=found[-1][-1] if found else None):
        found.append(page)
    return found


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 10])
async def test_pages_of_five_hold_everything_once_and_the_last_may_be_exactly_full(
    app: Kairos, count: int
) -> None:
    jobs = await fill(app, count)
    found = await pages(app, 5)
    assert [job for page in found for job in page] == jobs[::-1]
    assert [len(page) for page in found] == [5] * (count // 5) + [count % 5] * (count % 5 > 0)


async def test_what_comes_or_goes_between_two_pages_moves_nothing_else(app: Kairos) -> None:
    jobs = await fill(app, 6)
    first = await ids(app, limit=3)
    await fill(app, 2)
    async with app.store.connection() as connection:
        await connection.execute(
            unguarded(f"delete from kairos.gen_durable where id in ({first[-1]}, {jobs[2]})")
        )
    assert await ids(app, limit=3, before=first[-1]) == [jobs[1], jobs[0]]


async def test_every_state_can_be_asked_for(app: Kairos) -> None:
    jobs = {state: (await in_state(app, state)).id for state in reversed(JobState)}
    for state, job in jobs.items():
        assert job in await ids(app, state=state)
        assert job in await ids(app, state=str(state))
        others = [await ids(app, state=other) for other in JobState if other != state]
        assert all(job not in found for found in others)


async def test_filters_narrow_and_add_up(app: Kairos) -> None:
    (red,) = await fill(app, 1, queue="q", tags=["red", "x"], key="k1")
    (blue,) = await fill(app, 1, queue="q", tags=["blue", "x"], key="k2")
    (other,) = await fill(app, 1, tags=["red"])
    sent = (await app.action("send").enqueue(1)).id
    assert await ids(app) == [sent, other, blue, red]
    assert await ids(app, queue="q") == [blue, red]
    assert await ids(app, tag="red") == [other, red]
    assert await ids(app, tag="x", queue="q", key="k1") == [red]
    assert await ids(app, action="send") == [sent]
    assert await ids(app, action="send", queue="q") == []
    assert await ids(app, key="k2", state="pending") == [blue]
    assert await ids(app, queue="q", before=blue) == [red]


async def test_fifty_are_listed_unless_asked_otherwise(app: Kairos) -> None:
    jobs = await fill(app, 60)
    assert await ids(app) == jobs[:-51:-1]
    assert await ids(app, limit=1) == [jobs[-1]]
    assert len(await ids(app, limit=1000)) == 60


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": 10**9}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"limit": None}, "limit"),
        ({"before": 0}, "before"),
        ({"before": 2**63}, "before"),
        ({"before": "5"}, "before"),
        ({"state": "done"}, "state"),
        ({"state": 5}, "state"),
        ({"queue": ""}, "queue"),
        ({"queue": "a\x00"}, "queue"),
        ({"action": 5}, "action"),
        ({"key": "\ud800"}, "key"),
        ({"tag": ["red"]}, "tag"),
    ],
    ids=str,
)
async def test_a_filter_that_makes_no_sense_is_refused(
    app: Kairos, filters: dict[str, Any], field: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        await app.jobs(**filters)
    assert refused.value.field == field
