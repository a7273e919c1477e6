"""Options and calls: checked before anything is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kairos import Kairos
from kairos.errors import BadArguments, BadRequest
from kairos.fsm.lifecycle import LIVE_STATUSES, Status
from kairos.machine.call import SCOPES, Options

app = Kairos()
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@app.job(queue="mail", ttl="1h", priority=3)
async def send(user: int, template: str = "plain") -> None: ...


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"queue": ""}, "queue"),
        ({"queue": 5}, "queue"),
        ({"queue": "a\x00"}, "queue"),
        ({"key": ""}, "key"),
        ({"key": "a\nb"}, "key"),
        ({"key": "\ud800"}, "key"),
        ({"unique": ""}, "unique"),
        ({"unique": "\x00"}, "unique"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"max_reaps": -1}, "max_reaps"),
        ({"run_at": datetime(2030, 1, 1)}, "run_at"),
        ({"run_at": "noon"}, "run_at"),
        ({"expires_at": datetime(2030, 1, 1)}, "expires_at"),
        ({"run_at": NOON, "delay": 5}, "run_at"),
        ({"ttl": 5, "expires_at": NOON}, "ttl"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": "-5s"}, "ttl"),
        ({"delay": -1}, "delay"),
        ({"ordered": True}, "ordered"),
        ({"if_taken": "ignore"}, "if_taken"),
        ({"tags": "red"}, "tags"),
        ({"tags": ["red", ""]}, "tags"),
        ({"tags": [5]}, "tags"),
        ({"tags": 5}, "tags"),
        ({"reply_to": (5, "")}, "reply_to"),
        ({"reply_to": (0, "done")}, "reply_to"),
        ({"reply_to": (2**63, "done")}, "reply_to"),
        ({"reply_to": ("5", "done")}, "reply_to"),
        ({"reply_to": 5}, "reply_to"),
        ({"unique_scope": "sometimes"}, "unique_scope"),
        ({"unique_scope": ["nowhere"]}, "unique_scope"),
        ({"unique_scope": 5}, "unique_scope"),
        ({"unique_scope": ["executing"]}, "unique_scope"),
        ({"unique_scope": ["runnable", "executing"]}, "unique_scope"),
        ({"unique_scope": ["runnable", "done"]}, "unique_scope"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_an_option_that_makes_no_sense_is_refused_with_its_name(options: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        send.options(**options)
    assert refused.value.field == field


@pytest.mark.parametrize("name", ["least", "most"])
@pytest.mark.parametrize(("field", "least", "most"), [("priority", -32768, 32767), ("max_reaps", 0, 32767)])
def test_numbers_are_taken_up_to_their_limits_and_not_past_them(
    field: str, least: int, most: int, name: str
) -> None:
    limit, past = (least, least - 1) if name == "least" else (most, most + 1)
    assert getattr(Options(**{field: limit}), field) == limit
    with pytest.raises(BadRequest):
        Options(**{field: past})


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(BadArguments, match="There is no option"):
        send.options(colour="red")
    with pytest.raises(BadArguments, match="There is no option"):
        send.options(delay_by=timedelta(5))


def test_options_add_up_and_never_mix_with_arguments() -> None:
    call = send.options(key="user:7").options(delay="1m", tags=["a"]).call(user=7)
    assert (call.options.key, call.options.delay_by, call.options.tags) == (
        "user:7",
        timedelta(minutes=1),
        ["a"],
    )
    assert (call.queue, call.ttl, call.options.priority) == ("mail", timedelta(hours=1), 3)
    assert send.call(user=7).options.key is None
    with pytest.raises(BadArguments):
        send.call(user=7, key="user:7")


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [((1, "a", 2), {}, "takes 2 arguments"), ((1,), {"user": 2}, "twice"), ((), {}, "user")],
)
def test_a_call_with_the_wrong_arguments_is_refused(
    args: tuple[Any, ...], kwargs: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadArguments, match=said):
        send.call(*args, **kwargs)


def test_arguments_may_be_given_by_place_or_by_name() -> None:
    assert send.call(7, "rich").state == send.call(template="rich", user=7).state


@pytest.mark.parametrize(
    ("wanted", "scope"),
    [
        ("queued", (Status.RUNNABLE,)),
        ("live", LIVE_STATUSES),
        ("ever", tuple(Status)),
        (["runnable"], (Status.RUNNABLE,)),
        ([*LIVE_STATUSES, "done"], (*LIVE_STATUSES, Status.DONE)),
    ],
)
def test_a_unique_key_is_held_over_a_scope_that_is_never_entered_twice(wanted: Any, scope: Any) -> None:
    assert Options(unique_scope=wanted).scope == scope


def test_the_named_scopes_grow() -> None:
    assert set(SCOPES["queued"]) < set(SCOPES["live"]) < set(SCOPES["ever"])


def test_an_action_is_still_the_function_it_was_made_from() -> None:
    @Kairos().job
    def double(number: int) -> int:
        return number * 2

    assert double(21) == 42
    assert repr(double) == "<Action double v1>"
    assert double.name == "double"
