"""Sizes: one less than the limit, the limit, and one more; in bytes where bytes count."""

from __future__ import annotations

from typing import Any

import pytest
from tests.boundaries.frozen_time import Moment

from kairos import Context
from kairos.errors import BadRequest, BadValue
from kairos.json_codec import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, dumps
from kairos.testing import drain

# {"value":"…"} around the text itself.
AROUND_TEXT = len('{"value":""}')
over = pytest.mark.parametrize("over", [-1, 0, 1])


def text_of(size: int, letter: str) -> str:
    """Text of exactly `size` bytes, filled up with one-byte letters."""
    width = len(letter.encode())
    return letter * (size // width) + "x" * (size % width)


def nested(depth: int, *, lists: bool) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value] if lists else {"a": value}
    return value


def echo(moment: Moment) -> Any:
    @moment.app.job
    async def act(ctx: Context, value: Any = None) -> Any:
        return value

    return act


@over
@pytest.mark.parametrize("letter", ["x", "é", "語", "🎈"])
async def test_arguments_fit_up_to_the_last_byte(moment: Moment, over: int, letter: str) -> None:
    act = echo(moment)
    value = text_of(MAX_BYTES - AROUND_TEXT + over, letter)
    if over > 0:
        with pytest.raises(BadValue, match=f"{MAX_BYTES + 1} bytes"):
            await act.enqueue(value=value)
        assert await moment.app.jobs() == []
    else:
        job = await act.enqueue(value=value)
        await drain(moment.app)
        assert await moment.app.result(job.id) == value


@over
async def test_a_result_that_is_too_large_fails_the_job_loudly(moment: Moment, over: int) -> None:
    @moment.app.job
    async def act() -> str:
        return "é" * ((MAX_BYTES - 2) // 2) + "xx"[: 1 + over]

    job = await act.enqueue()
    await drain(moment.app)
    ended = await moment.app.get(job.id)
    size = len(dumps("é" * ((MAX_BYTES - 2) // 2)).encode()) + 1 + over
    assert ended.state == ("success" if size <= MAX_BYTES else "failed")
    assert ended.error_code == (None if size <= MAX_BYTES else "BAD_VALUE")


@over
async def test_a_signal_carries_up_to_the_last_byte(moment: Moment, over: int) -> None:
    job = await echo(moment).enqueue()
    payload = text_of(MAX_BYTES - 2 + over, "é")
    if over > 0:
        with pytest.raises(BadValue, match="payload"):
            await moment.app.signal(job.id, "note", payload)
    else:
        await moment.app.signal(job.id, "note", payload)
        assert (await moment.app.signals(job.id))[0].payload == payload


@over
@pytest.mark.parametrize("lists", [True, False], ids=["lists", "objects"])
async def test_values_nest_up_to_the_limit(moment: Moment, over: int, lists: bool) -> None:
    # The arguments themselves are one level.
    value = nested(MAX_DEPTH - 1 + over, lists=lists)
    if over > 0:
        with pytest.raises(BadValue, match=f"more than {MAX_DEPTH} levels"):
            await echo(moment).enqueue(value=value)
    else:
        job = await echo(moment).enqueue(value=value)
        await drain(moment.app)
        assert await moment.app.result(job.id) == value


@over
@pytest.mark.parametrize("sign", [1, -1])
async def test_integers_are_kept_up_to_their_last_digit(moment: Moment, over: int, sign: int) -> None:
    value = sign * (10 ** (MAX_DIGITS + over) - 1)
    if over > 0:
        with pytest.raises(BadValue, match="digits"):
            await echo(moment).enqueue(value=value)
    else:
        job = await echo(moment).enqueue(value=value)
        await drain(moment.app)
        assert await moment.app.result(job.id) == value


@pytest.mark.parametrize("letter", ["k", "é", "🎈"])
@pytest.mark.parametrize("field", ["key", "unique", "queue", "tags"])
@pytest.mark.parametrize("length", [0, 1, 255, 256])
async def test_names_have_from_1_to_255_characters(
    moment: Moment, field: str, letter: str, length: int
) -> None:
    name = letter * length
    act = echo(moment)
    value = [name] if field == "tags" else name
    if length in (0, 256):
        with pytest.raises(BadRequest) as refused:
            act.options(**{field: value})
        assert refused.value.field == field
        return
    job = await act.options(**{field: value}).enqueue()
    stored = getattr(await moment.app.get(job.id), field)
    assert stored == (tuple(value) if field == "tags" else name)
    assert await drain(moment.app) == 1


@pytest.mark.parametrize("length", [0, 1, 255, 256])
@pytest.mark.parametrize("field", ["name", "dedup_key"])
async def test_a_signal_s_names_are_as_long_as_any(moment: Moment, field: str, length: int) -> None:
    job = await echo(moment).enqueue()
    asked = {"name": "note", "dedup_key": None} | {field: "🎈" * length}
    if length in (0, 256):
        with pytest.raises(BadRequest) as refused:
            await moment.app.signal(job.id, asked["name"], dedup_key=asked["dedup_key"])
        assert refused.value.field == field
    else:
        await moment.app.signal(job.id, asked["name"], dedup_key=asked["dedup_key"])
        assert getattr((await moment.app.signals(job.id))[0], field) == asked[field]


@pytest.mark.parametrize("length", [0, 1, 255, 256])
async def test_a_queue_s_settings_are_kept_under_a_name_of_the_same_length(
    moment: Moment, length: int
) -> None:
    name = "q" * length
    if length in (0, 256):
        with pytest.raises(BadRequest):
            await moment.app.pause(name)
    else:
        assert (await moment.app.pause(name)).name == name
