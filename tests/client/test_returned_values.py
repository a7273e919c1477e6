"""What may be passed in may be returned: a result is written as its type says, and read back as that type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from kairos import Context, Done, Kairos, Stop, step
from kairos.errors import BadValue
from kairos.testing import drain


class User(BaseModel):
    name: str
    born: date | None = None


@dataclass
class Point:
    x: int
    y: Decimal


AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
ID = UUID("12345678-1234-5678-1234-567812345678")
VALUES: list[tuple[Any, Any, Any]] = [
    (User, User(name="Ann", born=date(2000, 1, 1)), {"name": "Ann", "born": "2000-01-01"}),
    (Point, Point(1, Decimal("2.50")), {"x": 1, "y": "2.50"}),
    (datetime, AT, "2030-01-02T03:04:05Z"),
    (timedelta, timedelta(minutes=1), "PT1M"),
    (UUID, ID, str(ID)),
    (Decimal, Decimal("0.1"), "0.1"),
    (set[int], {3}, [3]),
    (list[User], [User(name="Bo")], [{"name": "Bo", "born": None}]),
    (dict[int, User], {1: User(name="Cy")}, {"1": {"name": "Cy", "born": None}}),
    (User | None, User(name="Di"), {"name": "Di", "born": None}),
    (User | Stop, User(name="Ed"), {"name": "Ed", "born": None}),
]


@pytest.mark.parametrize(("kind", "value", "stored"), VALUES, ids=lambda each: str(each)[:30])
async def test_a_result_is_stored_as_its_annotation_says_and_read_back_as_that(
    app: Kairos, kind: Any, value: Any, stored: Any
) -> None:
    async def give() -> Any:
        return value

    give.__annotations__["return"] = kind
    action = app.job(give)
    job = await action.enqueue()
    await drain(app)
    assert await app.result(job.id) == stored
    assert await action.result(job.id) == value
    assert await action.result(job) == value


async def test_without_an_annotation_only_json_is_returned_and_the_error_says_what_to_do(app: Kairos) -> None:
    @app.job
    async def give():  # type: ignore[no-untyped-def]
        return {3}

    @app.machine("giver")
    class Giver:
        @step
        async def give(self, ctx: Context) -> Done:
            return Done(AT)

    jobs = [await give.enqueue(), await Giver.enqueue()]
    await drain(app)
    errors = [(await app.get(job.id)).error for job in jobs]
    assert errors == [
        "BadValue: result is a set, which JSON cannot hold: annotate what the function returns, or return JSON.",
        "BadValue: result is a datetime, which JSON cannot hold: return its model_dump(mode='json'), or return JSON.",
    ]


async def test_a_result_that_was_not_awaited_is_named_whatever_the_annotation(app: Kairos) -> None:
    async def total() -> int:
        return 3

    @app.job
    async def give():  # type: ignore[no-untyped-def]
        return total()

    @app.job
    async def promise() -> int:
        return total()  # type: ignore[return-value]

    jobs = [await give.enqueue(), await promise.enqueue()]
    await drain(app)
    errors = [(await app.get(job.id)).error for job in jobs]
    assert errors == ["BadValue: result is a coroutine, which JSON cannot hold: write `return await …`."] * 2


@pytest.mark.parametrize("value", [float("nan"), [Decimal("1"), float("inf")], {"f": object()}, lambda: None])
async def test_what_json_cannot_hold_fails_the_job_with_its_name(app: Kairos, value: Any) -> None:
    @app.job
    async def give() -> Any:
        return value

    job = await give.enqueue()
    await drain(app)
    read = await app.get(job.id)
    assert (read.state, read.error_code) == ("failed", "BAD_VALUE")
    assert "result" in (read.error or "")


async def test_an_output_of_earlier_code_that_does_not_fit_is_told_in_a_sentence(app: Kairos) -> None:
    async def count_pages() -> str:
        return "many"

    job = await app.job(count_pages).enqueue()
    await drain(app)
    async with Kairos(app.database_url) as later:
        count_pages.__annotations__["return"] = int
        with pytest.raises(
            BadValue, match=r"^The output of 'count_pages' is not what its function is annotated to return"
        ):
            await later.job(count_pages).result(job)
    assert await app.result(job.id) == "many"


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        (int, "forty-two", "result: Input should be a valid integer, unable to parse string as an integer"),
        (str, 42, "result: Input should be a valid string"),
        (
            list[int],
            [1, "two"],
            "result[1]: Input should be a valid integer, unable to parse string as an integer",
        ),
        (dict[str, int], {"a": None}, "result['a']: Input should be a valid integer"),
        (User, {"nam": "Ann"}, "result['name']: Field required"),
    ],
    ids=str,
)
async def test_a_result_that_its_annotation_does_not_allow_fails_the_job(
    app: Kairos, kind: Any, value: Any, why: str
) -> None:
    async def give() -> Any:
        return value

    give.__annotations__["return"] = kind
    job = await app.job(give).enqueue()
    await drain(app)
    ended = await app.get(job.id)
    assert (ended.state, ended.error) == (
        "failed",
        f"BadValue: 'give' returned what its annotation does not allow: {why}. Return that, or change the annotation.",
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (float, 1),
        (int, 2.0),
        (int, True),
        (User, {"name": "Ann", "born": "2000-01-01"}),
        (tuple[int, str], (1, "a")),
        (datetime, "2030-01-02T03:04:05Z"),
        (int | Stop, 5),
        (int, None),
        (dict, {"a": [1]}),
    ],
    ids=str,
)
async def test_json_that_reads_as_the_annotation_is_a_result(app: Kairos, kind: Any, value: Any) -> None:
    async def give() -> Any:
        return value

    give.__annotations__["return"] = kind
    job = await app.job(give).enqueue()
    await drain(app)
    assert (await app.get(job.id)).state == "success"


async def test_a_result_of_another_type_than_its_annotation_says_is_not_quoted(app: Kairos) -> None:
    @app.job
    async def find() -> str:
        return Path("/secret")  # type: ignore[return-value]

    job = await find.enqueue()
    await drain(app)
    kind = type(Path()).__name__
    assert (await app.get(job.id)).error == (
        f"BadValue: The result of 'find' has the type {kind}; it, or a value inside it, does not fit the annotation."
    )
