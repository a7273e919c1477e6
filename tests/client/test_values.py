"""Values on their whole way: in as arguments, through the database, into a step, out as its result."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kairos import Await, Context, Done, Kairos, Next, SyncKairos, step
from kairos.errors import BadRequest, BadValue
from kairos.testing import drain

NUMBERS = [0, -1, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, 10**100]
FLOATS = [
    0.1,
    -2.5,
    1.0,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    1e16,
    1e22,
    1e23,
    -1.5e300,
    1 / 3,
]
TEXTS = [
    "",
    " ",
    "NULL",
    "null",
    "{}",
    "{a,b}",
    '"',
    "'",
    "\\",
    '\\"',
    "\\\\",
    "%_",
    "%s %(p1)s $1 :x ?",
    "a,b",
    "; drop table kairos.gen_durable; --",
    "\\u0000",
    "tab\tnew\nline\r",
    "\x01\x1f\x7f",
    "\u2028\u2029",
    "\ufffe\uffff",
    "\U0001f388",
    "\u202eright to left",
    "é",
    "e\u0301",
    "a" * 10_000,
]
NASTY = {"numbers": NUMBERS, "texts": TEXTS, "nested": {"": [{"\\": {'"': [[], {}, None, True, False]}}]}}
NAMES = [text for text in TEXTS if text and len(text) <= 255 and all(ord(letter) >= 32 for letter in text)]


async def test_what_goes_in_comes_out(app: Kairos) -> None:
    job = await app.action("echo").enqueue(NASTY)
    assert job.input == {"value": NASTY}
    await drain(app)
    assert await app.result(job.id) == NASTY
    assert (await app.get(job.id)).input == {"value": NASTY}


async def test_a_state_is_carried_from_step_to_step_as_it_is(app: Kairos) -> None:
    seen: list[Any] = []

    @app.machine("m", run_ahead=False)
    class Machine:
        @step(initial=True)
        async def one(self, ctx: Context) -> Any:
            return Next("two", NASTY)

        @step
        async def two(self, ctx: Context) -> Any:
            seen.append(ctx.state)
            if (found := ctx.take("go")) is None:
                return Await("go", *NAMES, state=ctx.state)
            return Done([ctx.state, found.payload])

    job = await Machine.enqueue()
    await drain(app)
    assert (await app.get(job.id)).awaits == ("go", *NAMES)
    assert await app.signal(job.id, "go", NASTY) == "woke"
    await drain(app)
    assert await app.result(job.id) == [NASTY, NASTY]
    assert seen == [NASTY, NASTY]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
async def test_a_name_may_be_any_text_that_can_be_shown(app: Kairos, name: str) -> None:
    @app.job(name=name, queue=name)
    async def act(ctx: Context) -> Any:
        return [ctx.action, [signal.name for signal in ctx.inbox]]

    job = await act.options(key=name, unique=name, tags=[name, "x"], reply_to=(1, name)).enqueue()
    read = await app.get(job.id)
    assert (read.action, read.queue, read.key, read.unique, read.tags) == (
        name,
        name,
        name,
        name,
        (name, "x"),
    )
    assert await app.signal(name, name, None, dedup_key=name) == "delivered"
    found = await app.jobs(action=name, queue=name, key=name, tag=name)
    assert [each.id for each in found] == [job.id]
    await drain(app)
    assert await app.result(job.id) == [name, [name]]


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1}}], ids=str)
async def test_what_json_has_no_form_for_is_kept_by_its_type_and_refused_without_one(
    app: Kairos, value: Any
) -> None:
    @app.job
    async def typed(pairs: dict[int, int] | dict[str, set[int]]) -> Any:
        return repr(pairs)

    job = await typed.enqueue(value)
    with pytest.raises(BadValue):
        await app.signal(job.id, "note", value)
    await drain(app)
    assert await app.result(job.id) == repr(value)


async def test_a_float_comes_back_as_the_number_it_was(app: Kairos) -> None:
    job = await app.action("echo").enqueue(FLOATS)
    await drain(app)
    back = await app.result(job.id)
    assert back == FLOATS
    assert {type(value) for value in back} == {float}


async def test_jsonb_knows_one_zero(app: Kairos) -> None:
    job = await app.action("echo").enqueue([-0.0, 0.0, -0])
    await drain(app)
    back = await app.result(job.id)
    assert back == [0, 0, 0]
    assert {math.copysign(1, value) for value in back} == {1.0}


REFUSED = ["\x00", "a\x00b", "\ud800", "\udfff x", math.nan, math.inf, -math.inf, 1e400, 10**4001, b"\xff"]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: ascii(value)[:20])
async def test_what_cannot_be_held_both_ways_is_refused_at_every_door(app: Kairos, value: Any) -> None:
    """As an argument and as a signal at once; as a state or a result of a step by a loud failure."""

    @app.job
    async def result() -> Any:
        return value

    @app.machine("state", run_ahead=False)
    class State:
        @step(initial=True)
        async def one(self, ctx: Context) -> Any:
            return Next("two", {"value": value})

        @step
        async def two(self, ctx: Context) -> Any:
            return Done()

    jobs = [await result.enqueue(), await State.enqueue()]
    with pytest.raises(BadValue):
        await app.signal(jobs[0].id, "note", {"value": value})
    with pytest.raises(BadRequest):
        await app.action("echo").enqueue({"value": value})
    await drain(app)
    ends = [await app.get(job.id) for job in jobs]
    assert [(end.state, end.error_code) for end in ends] == [("failed", "BAD_VALUE")] * 2
    assert len(await app.jobs()) == 2


@pytest.mark.parametrize(
    "words", ["a\x00b", "\ud800", "é" * 9000, "", '\\"{}'], ids=lambda words: ascii(words)[:20]
)
async def test_an_error_in_any_words_is_recorded(app: Kairos, words: str) -> None:
    @app.job
    async def broken() -> None:
        raise ValueError(words)

    job = await broken.enqueue()
    await drain(app)
    ended = await app.get(job.id)
    assert (ended.state, ended.error_code) == ("failed", "ValueError")
    assert ended.error.startswith("ValueError")
    assert (await app.history(job.id))[0].reason == ended.error


TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(VALUES, min_size=1, max_size=10), tags=st.lists(TEXT.filter(str.isprintable), max_size=3)
)
def test_any_batch_of_values_is_read_back_as_it_was_given(
    sync_app: SyncKairos, values: list[Any], tags: list[str]
) -> None:
    named = [tag for tag in tags if tag]
    echo = sync_app.action("echo").options(tags=named)
    jobs = sync_app.enqueue_many(echo.call(value) for value in values)
    found = sync_app.jobs(limit=len(jobs))
    assert [job.input["value"] for job in reversed(found)] == values
    assert {job.tags for job in found} == {tuple(named)}
