"""A step while it runs, as the executor, the lease watch and cancel requests see it."""

from __future__ import annotations

import asyncio
from typing import Any

from kairos.machine.context import Context
from kairos.machine.definition import Step
from kairos.worker.claim import Claim


class RunningStep:
    """A step that a lane runs, and how to stop it.

    `lost`: its lease was lost, so its outcome is dropped. `over`: its code has ended, and only the commit is left.
    """

    __slots__ = ("claim", "ctx", "lane", "lost", "over", "step")

    def __init__(self, claim: Claim, ctx: Context[Any], step: Step, lane: asyncio.Task[Any]) -> None:
        self.claim = claim
        self.ctx = ctx
        self.step = step
        self.lane = lane
        self.lost = False
        self.over = False

    def stop(self) -> None:
        """Request a stop: an async step is cancelled at its next await, one in a process is ended, one in a thread may
        ask whether it should stop.
        """
        self.ctx.cancel_requested = True
        if self.step.runs_in != "thread":
            self.interrupt()

    def interrupt(self) -> None:
        if not self.over:
            self.lane.cancel()
