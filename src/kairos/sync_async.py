"""Methods for sync and async callers from one source: each returns an operation, which the object then runs."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator
from inspect import Parameter, iscoroutine, signature
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from kairos.errors import BadArguments
from kairos.other_libraries import METHOD, WORKER
from kairos.store.query import Operation
from kairos.suggest import nearest

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = {Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD}

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


class RunsAsync(ABC):
    """An object whose methods return awaitables."""

    @abstractmethod
    async def run(self, operation: Operation[T]) -> T:
        """Run one operation of `kairos.operations`."""


class RunsSync(ABC):
    """An object whose methods return values."""

    @abstractmethod
    def run(self, operation: Operation[T]) -> T:
        """Run one operation of `kairos.operations`."""


def runs_operation(run: C) -> C:
    """Make `run` refuse what is no operation: people who look for a way to run jobs try it first."""

    @functools.wraps(run)
    def checked(target: object, /, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if len(given) != 1 or not isinstance(given[0], Generator):
            raise BadArguments(
                f"{type(target).__name__}.run runs one operation of kairos.operations, such as operations.get(1). "
                f"To run jobs, use {WORKER}."
            )
        return run(target, given[0])

    return cast("C", checked)


def _refuse_misfit(owner: str, function: Callable[..., Any], target: object, args: Any, kwargs: Any) -> None:
    """Raise `BadArguments` if the arguments do not fit the function: then the TypeError was about the call."""
    method, takes = f"{owner}.{function.__name__}", signature(function)
    try:
        takes.bind(target, *args, **kwargs)
    except TypeError as misfit:
        unknown = next((name for name in kwargs if name not in takes.parameters), None)
        if unknown is None:
            positional = [
                name for name, each in takes.parameters.items() if each.kind in _POSITIONAL and name != "self"
            ]
            named = "too many positional" in str(misfit) and any(
                each.kind in _NAMED for each in takes.parameters.values()
            )
            hint = f" Only {', '.join(positional)} may stand without a name." if named and positional else ""
            raise BadArguments(f"{method}: {misfit}.{hint}") from None
        known = [name for name in takes.parameters if name != "self"]
        hint = METHOD.get(function.__name__) or nearest(unknown, known)
        raise BadArguments(f"{method} takes no argument {unknown!r}.{hint}") from None


class sync_or_async(Generic[P, T]):  # noqa: N801 (used as `property` is)
    """Turn a method that returns an operation into one that runs it; type checkers see both return types."""

    def __init__(self, function: Callable[Concatenate[Any, P], Operation[T]]) -> None:
        def method(target: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                operation = function(target, *args, **kwargs)
            except TypeError:
                _refuse_misfit(type(target).__name__, function, target, args, kwargs)
                raise
            answer = target.run(operation)
            if iscoroutine(answer):  # "coroutine 'Kairos.enqueue' was never awaited" says what was forgotten
                answer.__qualname__ = f"{type(target).__name__}.{function.__name__}"
            return answer

        functools.update_wrapper(method, function)
        self._bind: Callable[[object, type], Callable[..., Any]] = method.__get__

    @overload
    def __get__(self, target: RunsAsync, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, target: RunsSync, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, target: object, owner: type) -> Callable[..., Any]: ...
    def __get__(self, target: object, owner: type) -> Callable[..., Any]:
        return self._bind(target, owner)
