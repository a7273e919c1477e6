"""What a step is given, where no worker is needed to tell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kairos import Context
from kairos.errors import BadRequest


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
    assert ctx.log._context == {"job": 7, "action": "order", "step": "charge", "attempt": 2}


def test_a_reply_needs_a_name() -> None:
    with pytest.raises(BadRequest, match="reply"):
        context().spawn(reply="")
