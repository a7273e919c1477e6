"""The context of one step execution: identity, state, inbox, and the services of the worker."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from kairos import json_codec, telemetry
from kairos.errors import BadRequest
from kairos.logger import Logger
from kairos.machine.call import Call
from kairos.machine.field_checks import check_name
from kairos.machine.step_log import StepLog

S = TypeVar("S", default=object)  # a plain `Context` is enough where the state does not matter


@dataclass(frozen=True, slots=True)
class Signal:
    """A message in the job's inbox."""

    id: int
    name: str
    payload: Any


class Runtime(Protocol):
    """The services that a worker offers to a running step."""

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None: ...
    def transaction(self, ctx: Context[Any]) -> Any: ...
    def write_log(
        self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None
    ) -> None: ...


class Context(Generic[S]):
    """One execution of one step."""

    __slots__ = (
        "_hide",
        "_log",
        "_runtime",
        "_untaken",
        "action",
        "attempt",
        "cancel_requested",
        "id",
        "inbox",
        "lease",
        "reported",
        "since_start",
        "spawned",
        "state",
        "step",
        "step_transaction",
        "taken",
        "timed_out",
        "version",
    )

    def __init__(
        self,
        *,
        id: int,  # noqa: A002 (the word everyone uses)
        action: str,
        version: int,
        step: str,
        attempt: int,
        state: S,
        inbox: tuple[Signal, ...] = (),
        timed_out: tuple[str, ...] = (),
        lease: int = 0,
        runtime: Runtime | None = None,
        hide: frozenset[str] = frozenset(),
    ) -> None:
        self.id = id
        self.action = action
        self.version = version
        self.step = step
        self.attempt = attempt
        self.state = state
        self.inbox = inbox
        self.timed_out = timed_out
        self.lease = lease
        self.cancel_requested = False
        self.since_start: timedelta | None = None  # how long the job runs, known where a policy asks for it
        self.taken: list[int] = []
        self.spawned: list[tuple[Call, str | None]] = []
        self.reported: str | None = None  # the latest progress as JSON, which the outcome's commit stores
        self.step_transaction: Any = None  # the transaction of this step, if it opened one
        self._runtime = runtime
        self._untaken: dict[str, deque[Signal]] | None = None  # by name; None until the first take
        self._hide = hide
        self._log: StepLog | None = None

    def take(self, name: str) -> Signal | None:
        """Return the oldest signal of that name that was not taken yet, or None; the outcome's commit consumes it."""
        if self._untaken is None:
            self._untaken = {}
            for each in self.inbox:
                self._untaken.setdefault(each.name, deque()).append(each)
        untaken = self._untaken.get(name)
        if not untaken:
            return None
        self.taken.append(untaken[0].id)
        return untaken.popleft()

    @property
    def log(self) -> StepLog:
        """A structured logger bound to the job; its lines are stored with the job."""
        if self._log is None:
            logger = Logger("kairos.job").bind(
                job=self.id, action=self.action, step=self.step, attempt=self.attempt
            )
            self._log = StepLog(logger, partial(write_log, self), self._hide)
        return self._log

    def progress(self, done: int, total: int | None = None) -> None:
        """Report progress; the worker writes it in batches, fenced by the lease, and the last one with the outcome."""
        self.reported = json_codec.dumps({"done": done, "total": total}, "progress")
        if self._runtime is not None:
            self._runtime.progress(self, done, total)

    def checkpoint(self) -> Checkpoint:
        """Stop here if the job was cancelled. `await` it in an async step; a plain call is enough in a thread."""
        if self.cancel_requested:
            raise asyncio.CancelledError(f"job {self.id} was asked to stop")
        return Checkpoint()

    def transaction(self) -> Any:
        """A connection whose commit is also the outcome's commit.

        `async with ctx.transaction() as connection` gives asyncpg in an async step; `with …` gives
        psycopg in a step that runs in a thread. One task or thread of the step enters it at a time. It is open until
        the step ends, and at most for the step's timeout, or ten minutes if the step has none.
        """
        if self._runtime is None:
            raise RuntimeError("ctx.transaction() needs a worker: it is not there in a process of its own.")
        if self.step_transaction is None:
            self.step_transaction = self._runtime.transaction(self)
        return self.step_transaction

    def spawn(self, *calls: Call, reply: str | None = None) -> None:
        """Enqueue children in the outcome's commit; with `reply`, each sends that signal here when it ends."""
        for call in calls:
            if not isinstance(call, Call):
                raise BadRequest(
                    f"ctx.spawn takes calls such as send.call(user_id=7), not {call!r}.", field="calls"
                )
            if call.options.unique is not None and call.options.if_taken == "raise":
                raise BadRequest(
                    'A child with a unique key needs if_taken="return": only the commit can tell if the key is taken.',
                    field="if_taken",
                )
        if reply is not None:
            check_name(reply, "reply")
            if any(call.options.unique for call in calls):
                raise BadRequest(
                    "A child whose unique key is taken is not enqueued and never replies: leave out unique or reply.",
                    field="reply",
                )
        here = telemetry.traceparent()  # children continue the trace of this step
        self.spawned.extend(
            (call if here is None else replace(call, options=replace(call.options, trace=here)), reply)
            for call in calls
        )


def write_log(
    ctx: Context[Any], level: str, line: str, fields: str | None = None, stream: str | None = None
) -> None:
    """Store one log line with the job; used by `ctx.log` and by captured output."""
    if ctx._runtime is not None:
        ctx._runtime.write_log(ctx, level, line, fields, stream)


def undo(ctx: Context[Any]) -> None:
    """Discard what a failed attempt took and spawned, so that the next attempt sees its signals again."""
    ctx.taken.clear()
    ctx.spawned.clear()
    ctx._untaken = None


class Checkpoint:
    """Awaiting it yields to the event loop once; it need not be awaited."""

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.sleep(0).__await__()
