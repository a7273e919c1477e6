"""Hooks: user code that runs when a worker starts and stops, and around each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from kairos.errors import BadDefinition
from kairos.machine.context import Context


class RunningWorker(Protocol):
    """The part of a worker that a hook sees."""

    name: str


WorkerHook: TypeAlias = Callable[[RunningWorker], Awaitable[None] | None]
StepHook: TypeAlias = Callable[
    [Context[Any]], AbstractContextManager[Any, Any] | AbstractAsyncContextManager[Any, Any]
]
W = TypeVar("W", bound=WorkerHook)
S = TypeVar("S", bound=StepHook)


class Hooks:
    """The hooks of one app, in the order in which they were added."""

    def __init__(self) -> None:
        self.worker_start: list[WorkerHook] = []
        self.worker_stop: list[WorkerHook] = []
        self.around_step: list[StepHook] = []


class HookDecorators:
    """The decorators that add hooks to an app."""

    @property
    def hooks(self) -> Hooks:
        raise NotImplementedError

    def on_worker_start(self, hook: W) -> W:
        """Call a function, async or not, before a worker picks its first job; an error keeps it from starting."""
        self.hooks.worker_start.append(_checked(hook))
        return hook

    def on_worker_stop(self, hook: W) -> W:
        """Call a function, async or not, after the last step of a worker; an error is logged."""
        self.hooks.worker_stop.append(_checked(hook))
        return hook

    def around_step(self, hook: S) -> S:
        """Run every step of this app inside the context manager that the function returns for the step's `Context`.

        A sync context manager is entered where the step runs (in its thread, for a plain `def`), an async one on the
        event loop. For a step in another process, both are entered in the worker. An exception of the step is raised
        inside the context manager; what the context manager raises counts as the step's error.
        """
        self.hooks.around_step.append(_checked(hook))
        return hook


def _checked(hook: Any) -> Any:
    if not callable(hook):
        raise BadDefinition(f"{hook!r} is no hook: give a function.")
    return hook
