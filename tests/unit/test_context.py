"""What a step is given, where no worker is needed to tell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.captured_logs import capture_logs

from kairos import Context
from kairos.errors import BadRequest
from kairos.machine.context import Signal, undo


def context(**more: Any) -> Context[Any]:
    return Context(id=7, action="order", version=1, step="charge", attempt=2, state={}, **more)


async def test_a_checkpoint_is_passed_until_the_job_is_asked_to_stop() -> None:
    ctx = context()
    ctx.checkpoint()
    await ctx.checkpoint()
    ctx.cancel_requested = True
    with pytest.raises(asyncio.CancelledError, match="job 7"):
        ctx.checkpoint()


def test_without_a_worker_there_is_no_transaction_and_progress_goes_nowhere() -> None:
    ctx = context()
    ctx.progress(1, 2)
    with pytest.raises(RuntimeError, match="needs a worker"):
        ctx.transaction()


def test_the_log_of_a_step_knows_its_job() -> None:
    ctx = context()
    assert ctx.log is ctx.log
    with capture_logs() as said:
        ctx.log.info("here", n=1)
    about = {"job": 7, "action": "order", "step": "charge", "attempt": 2}
    assert said == [{**about, "n": 1, "event": "here", "log_level": "info"}]


def test_a_reply_needs_a_name() -> None:
    with pytest.raises(BadRequest, match="reply"):
        context().spawn(reply="")


def test_signals_are_taken_in_linear_time() -> None:
    """The inbox is looked through once, however many signals are taken, and once more after a failed attempt."""

    class Inbox(tuple[Signal, ...]):
        looks = 0

        def __iter__(self) -> Iterator[Signal]:
            Inbox.looks += 1
            return super().__iter__()

    ctx = context(inbox=Inbox(Signal(number, "ab"[number % 2], {}) for number in range(2000)))
    for _ in range(2):
        taken = [signal.id for name in "ba" for signal in iter(partial(ctx.take, name), None)]
        assert taken == ctx.taken == [*range(1, 2000, 2), *range(0, 2000, 2)]
        assert (ctx.take("a"), ctx.take("c")) == (None, None)
        undo(ctx)
    assert Inbox.looks == 2
