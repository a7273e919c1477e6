"""Arguments are checked when a job is enqueued: the field is named, and nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.client.actions import drain_of
from typing_extensions import TypedDict

from kairos import Context, Done, Kairos, SyncKairos, step
from kairos.errors import BadArguments, BadRequest, BadValue, UnknownAction
from kairos.testing import drain


class Item(BaseModel):
    name: str = Field(max_length=5)
    price: Decimal = Decimal(1)
    at: datetime | None = None


@pytest.fixture
def order(app: Kairos) -> Any:
    @app.job
    async def order(ctx: Context, user: int, items: list[Item], extra: Any = None) -> Any:
        assert all(isinstance(item, Item) for item in items)
        return [item.model_dump(mode="json") for item in items]

    return order


@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        ({}, BadArguments, "user"),
        ({"user": 7}, BadArguments, "items"),
        ({"user": "seven", "items": []}, BadArguments, "user"),
        ({"user": None, "items": []}, BadArguments, "user"),
        ({"user": 7, "items": {}}, BadArguments, "items"),
        ({"user": 7, "items": [{"name": "toolong"}]}, BadArguments, "items.0.name"),
        ({"user": 7, "items": [{"name": "x"}, {"price": 1}]}, BadArguments, "items.1.name"),
        ({"user": 7, "items": [], "who": 1}, BadArguments, "who"),
        ({"user": 7, "items": [{"name": "a\x00"}]}, BadValue, "state.items[0].name"),
        ({"user": 7, "items": [], "extra": "\x00"}, BadValue, "state.extra"),
        ({"user": 7, "items": [], "extra": {"a": float("nan")}}, BadValue, "state.extra.a"),
        ({"user": 7, "items": [], "extra": [float("inf")]}, BadValue, "state.extra[0]"),
        ({"user": 7, "items": [], "extra": 1e400}, BadValue, "state.extra"),
        ({"user": 7, "items": [], "extra": "\udc00"}, BadValue, "state.extra"),
        ({"user": 7, "items": [], "extra": "x" * (1 << 20)}, BadValue, "state"),
        ({"user": 7, "items": [], "extra": ...}, BadValue, "extra"),
        ({"user": 10**4000, "items": []}, BadRequest, None),
    ],
    ids=lambda value: str(value)[:50],
)
async def test_a_wrong_argument_is_refused_and_nothing_is_stored(
    app: Kairos, order: Any, arguments: dict[str, Any], error: type[BadRequest], field: str | None
) -> None:
    with pytest.raises(error) as refused:
        await order.enqueue(**arguments)
    assert field in (refused.value.field, None)
    assert refused.value.http_status == 422
    assert await app.jobs() == []


async def test_arguments_arrive_as_their_types(app: Kairos, order: Any) -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    job = await order.enqueue("7", [{"name": "pen", "price": "1.10"}, Item(name="ink", at=at)])
    await drain(app)
    assert await app.result(job.id) == [
        {"name": "pen", "price": "1.10", "at": None},
        {"name": "ink", "price": "1", "at": "2030-01-01T00:00:00Z"},
    ]


@pytest.mark.parametrize("wrong", [None, 5, "send", "action"])
async def test_only_calls_can_be_enqueued(app: Kairos, wrong: Any) -> None:
    given = app.action("send") if wrong == "action" else wrong
    for ask in (lambda: app.enqueue(given), lambda: app.enqueue_many([given])):
        with pytest.raises(BadRequest, match="call"):
            await ask()


async def test_an_unknown_action_is_refused(app: Kairos) -> None:
    with pytest.raises(UnknownAction, match="No action is called 'sned'"):
        app.action("sned")


class Typed(TypedDict):
    order: int


@dataclass
class Data:
    order: int
    note: str = "none"


class Model(BaseModel):
    order: int
    note: str = "none"


@pytest.mark.parametrize("state", [Typed, Data, Model, dict[str, int]])
async def test_a_machine_s_state_may_be_any_type_pydantic_knows(app: Kairos, state: Any) -> None:
    seen: list[Any] = []

    class Keeper:
        State = state

        @step
        async def only(self, ctx: Context) -> Any:
            seen.append(ctx.state)
            return Done()

    keeper = app.machine("keeper")(Keeper)
    with pytest.raises(BadArguments):
        await keeper.enqueue(order="x")
    await keeper.enqueue(order=5)
    await drain(app)
    assert seen == [state(order=5)]


async def test_a_machine_takes_its_state_by_name_or_as_one_object(app: Kairos) -> None:
    @app.machine("keeper")
    class Keeper:
        State = Model

        @step
        async def only(self, ctx: Context) -> Any: ...

    jobs = [await Keeper.enqueue(order=5), await Keeper.enqueue(Model(order=5))]
    assert [job.input for job in jobs] == [{"order": 5}] * 2
    for wrong in ((5,), (Model(order=5), 6)):
        with pytest.raises(BadArguments):
            await Keeper.enqueue(*wrong)


def test_the_sync_app_refuses_the_same(sync_app: SyncKairos, database: str) -> None:
    with pytest.raises(BadArguments) as refused:
        sync_app.action("send").enqueue(user="seven")
    assert refused.value.field == "user"
    with pytest.raises(BadValue):
        sync_app.action("echo").enqueue("\x00")
    assert sync_app.jobs() == []
    assert drain_of(database) == 0
