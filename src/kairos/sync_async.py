"""Methods for sync and async callers from one source: each returns an operation, which the object then runs."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from inspect import iscoroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from kairos.store.query import Operation

P = ParamSpec("P")
T = TypeVar("T")


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


class sync_or_async(Generic[P, T]):  # noqa: N801 (used as `property` is)
    """Turn a method that returns an operation into one that runs it; type checkers see both return types."""

    def __init__(self, ask: Callable[Concatenate[Any, P], Operation[T]]) -> None:
        def method(face: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            answer = face.run(ask(face, *args, **kwargs))
            if iscoroutine(answer):  # "coroutine 'Kairos.enqueue' was never awaited" says what was forgotten
                answer.__qualname__ = f"{type(face).__name__}.{ask.__name__}"
            return answer

        functools.update_wrapper(method, ask)
        self._bind: Callable[[object, type], Callable[..., Any]] = method.__get__

    @overload
    def __get__(self, face: RunsAsync, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, face: RunsSync, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, face: object, owner: type) -> Callable[..., Any]: ...
    def __get__(self, face: object, owner: type) -> Callable[..., Any]:
        return self._bind(face, owner)
