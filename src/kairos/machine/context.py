"""What a step is given: who it is, its state, its inbox, and the few things it may ask of its worker."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol

import structlog
from typing_extensions import TypeVar

from kairos import codec, telemetry
from kairos.errors import BadRequest
from kairos.machine.call import Call
from kairos.machine.log import StepLog
from kairos.machine.names import check_name

S = TypeVar("S", default=object)  # a plain `Context` is enough where the state does not matter


@dataclass(frozen=True, slots=True)
class Signal:
    """A message in the job's inbox."""

    id: int
    name: str
    payload: Any


class Runtime(Protocol):
    """What the worker does on behalf of a step."""

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None: ...
    def transaction(self) -> Any: ...
    def say(
        self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None
    ) -> None: ...


class Context(Generic[S]):
    """One execution of one step."""

    __slots__ = (
        "_hide",
        "_log",
        "_runtime",
        "action",
        "attempt",
        "cancel_requested",
        "id",
        "inbox",
        "lease",
        "spawned",
        "state",
        "step",
        "taken",
        "timed_out",
        "told",
        "unit",
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
        self.taken: list[int] = []
        self.spawned: list[tuple[Call, str | None]] = []
        self.told: str | None = None  # how far it has come, as JSON; the outcome carries the last of it
        self.unit: Any = None  # the transaction of this step, once it asked for one
        self._runtime = runtime
        self._hide = hide
        self._log: StepLog | None = None

    def take(self, name: str) -> Signal | None:
        """The oldest signal of that name that was not taken yet; the outcome's commit consumes it."""
        for signal in self.inbox:
            if signal.name == name and signal.id not in self.taken:
                self.taken.append(signal.id)
                return signal
        return None

    @property
    def log(self) -> StepLog:
        """A structured log that knows the job: what is said here is kept with it."""
        if self._log is None:
            logger = structlog.get_logger("kairos.job").bind(
                job=self.id, action=self.action, step=self.step, attempt=self.attempt
            )
            self._log = StepLog(logger, partial(tell, self), self._hide)
        return self._log

    def progress(self, done: int, total: int | None = None) -> None:
        """Tell how far the step has come; written in batches, fenced by the lease, and at last with the outcome."""
        self.told = codec.dumps({"done": done, "total": total}, "progress")
        if self._runtime is not None:
            self._runtime.progress(self, done, total)

    def checkpoint(self) -> Checkpoint:
        """Give up here if the job was asked to stop. `await` it in an async step; a call is enough in a thread."""
        if self.cancel_requested:
            raise asyncio.CancelledError(f"job {self.id} was asked to stop")
        return Checkpoint()

    def transaction(self) -> Any:
        """A connection whose commit is also the outcome's commit.

        `async with ctx.transaction() as connection` gives asyncpg in an async step; `with …` gives
        psycopg in a step that runs in a thread.
        """
        if self._runtime is None:
            raise RuntimeError("ctx.transaction() needs a worker: it is not there in a process of its own.")
        if self.unit is None:
            self.unit = self._runtime.transaction()
        return self.unit

    def spawn(self, *calls: Call, reply: str | None = None) -> None:
        """Enqueue children in the outcome's commit; with `reply`, each sends that signal here when it ends."""
        for call in calls:
            if not isinstance(call, Call):
                raise BadRequest(
                    f"ctx.spawn takes calls such as send.call(user_id=7), not {call!r}.", field="calls"
                )
            if call.options.unique is not None and call.options.if_taken == "raise":
                raise BadRequest(
                    'Whether a child\'s unique key is taken is known only at the commit: give it if_taken="return".',
                    field="if_taken",
                )
        if reply is not None:
            check_name(reply, "reply")
            if any(call.options.unique for call in calls):
                raise BadRequest(
                    "A child whose unique key is taken would never be made, and never reply: leave out one of them.",
                    field="reply",
                )
        here = telemetry.traceparent()  # the children are of this step
        self.spawned.extend(
            (call if here is None else replace(call, options=replace(call.options, trace=here)), reply)
            for call in calls
        )


def tell(
    ctx: Context[Any], level: str, line: str, fields: str | None = None, stream: str | None = None
) -> None:
    """Keep one line with the job; `ctx.log` and captured output end here."""
    if ctx._runtime is not None:
        ctx._runtime.say(ctx, level, line, fields, stream)


class Checkpoint:
    """Awaiting it lets the event loop breathe once; not awaiting it is fine too."""

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.sleep(0).__await__()
