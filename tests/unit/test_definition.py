"""Machines as the engine reads them from classes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from kairos import Backoff, Context, Done, Kairos, Next, step
from kairos.errors import BadDefinition, BadValue
from kairos.machine.definition import Machine


class Colour(BaseModel):
    name: str
    strength: float = 1.0


def machine(target: Any, **settings: Any) -> Machine:
    return Kairos().machine("m", **settings)(target).machine


def test_a_class_with_steps_is_a_machine_that_begins_at_its_initial_step() -> None:
    class Order:
        State = Colour

        @step(initial=True, to=["ship"], timeout="5s")
        async def charge(self, ctx: Context[Colour]) -> Next:
            return Next("ship")

        @step
        def ship(self, ctx: Context[Colour]) -> Done:
            return Done()

        def helper(self) -> None: ...

    read = machine(Order, queue="orders", version=3, ttl="1h", timeout=9, redact=["card"])
    assert (read.name, read.version, read.queue, read.initial) == ("m", 3, "orders", "charge")
    assert set(read.steps) == {"charge", "ship"}
    assert [read.steps[name].runs_in for name in ("charge", "ship")] == ["async", "thread"]
    assert [read.steps[name].timeout for name in ("charge", "ship")] == [
        timedelta(seconds=5),
        timedelta(seconds=9),
    ]
    assert [read.steps[name].leads_to for name in ("charge", "ship")] == [("ship",), None]
    assert (read.ttl, read.redact, read.plain, read.run_ahead) == (timedelta(hours=1), {"card"}, False, True)


def test_the_only_step_of_a_machine_is_its_initial_one() -> None:
    class One:
        @step
        async def only(self, ctx: Context) -> Done:
            return Done()

    assert machine(One).initial == "only"


def test_a_machine_answers_errors_by_its_own_handle_or_else_by_its_retry() -> None:
    class Own:
        @step
        async def only(self, ctx: Context) -> Done:
            return Done()

        def handle(self, error: Exception, ctx: Context) -> Any: ...

    class Bare:
        only = step(Own.only)

    policy = Backoff(attempts=2)
    assert machine(Own).handle.__name__ == "handle"
    assert machine(Bare, retry=policy).handle is policy
    assert machine(Bare).handle is None
    with pytest.raises(BadDefinition, match="in one place"):
        machine(Own, retry=policy)


def test_what_could_never_answer_an_error_is_refused() -> None:
    class Bare:
        @step
        async def only(self, ctx: Context) -> Done:
            return Done()

    async def later(error: Exception, ctx: Context) -> Any: ...

    with pytest.raises(BadDefinition, match="give a policy"):
        machine(Bare, retry=5)
    with pytest.raises(BadDefinition, match="plain def"):
        machine(Bare, retry=later)


def none_initial() -> type:
    class Lost:
        @step
        async def one(self, ctx: Context) -> Any: ...
        @step
        async def two(self, ctx: Context) -> Any: ...

    return Lost


def two_initial() -> type:
    class Torn:
        @step(initial=True)
        async def one(self, ctx: Context) -> Any: ...
        @step(initial=True)
        async def two(self, ctx: Context) -> Any: ...

    return Torn


def leads_nowhere() -> type:
    class Astray:
        @step(to=["there"])
        async def here(self, ctx: Context) -> Any: ...

    return Astray


def unreachable() -> type:
    class Island:
        @step(initial=True, to=[])
        async def here(self, ctx: Context) -> Any: ...
        @step(to=["here"])
        async def there(self, ctx: Context) -> Any: ...

    return Island


def untyped_state() -> type:
    class Opaque:
        State = type("Strange", (), {})

        @step
        async def here(self, ctx: Context) -> Any: ...

    return Opaque


def wrong_place() -> type:
    class Misplaced:
        @step(runs_in="process")
        async def here(self, ctx: Context) -> Any: ...

    return Misplaced


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: object, "no steps"),
        (none_initial, "exactly one"),
        (two_initial, "exactly one"),
        (leads_nowhere, "'there'"),
        (unreachable, "No path leads to 'there'"),
        (untyped_state, "State that cannot be typed"),
        (wrong_place, "cannot run in 'process'"),
    ],
)
def test_a_machine_that_could_never_run_is_refused(make: Any, said: str) -> None:
    with pytest.raises(BadDefinition, match=said):
        machine(make())


def test_a_step_that_names_no_followers_may_lead_anywhere() -> None:
    class Free:
        @step(initial=True, to=["middle"])
        async def first(self, ctx: Context) -> Any: ...
        @step
        async def middle(self, ctx: Context) -> Any: ...
        @step(to=[])
        async def last(self, ctx: Context) -> Any: ...

    spec = machine(Free).spec
    assert spec.states[0] == "first"
    assert [(edge.source, edge.target) for edge in spec.edges] == [("first", "middle")]


def test_a_state_that_contains_itself_is_refused() -> None:
    class Loose:
        @step
        async def only(self, ctx: Context) -> Done:
            return Done()

    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(BadValue):
        machine(Loose).dump(circle)
