"""Methods for sync and async callers from one source: each returns an operation, which the object then runs."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from inspect import Parameter, iscoroutine, signature
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from kairos.errors import BadArguments
from kairos.other_libraries import METHOD
from kairos.store.query import Operation
from kairos.suggest import nearest

_BARE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = {Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD}

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


def _refuse_misfit(owner: str, ask: Callable[..., Any], face: object, args: Any, kwargs: Any) -> None:
    """Say which argument a method does not take; any other TypeError is not about the call."""
    method, takes = f"{owner}.{ask.__name__}", signature(ask)
    try:
        takes.bind(face, *args, **kwargs)
    except TypeError as misfit:
        unknown = next((name for name in kwargs if name not in takes.parameters), None)
        if unknown is None:
            bare = [name for name, each in takes.parameters.items() if each.kind in _BARE and name != "self"]
            named = "too many positional" in str(misfit) and any(
                each.kind in _NAMED for each in takes.parameters.values()
            )
            hint = f" Only {', '.join(bare)} may stand without a name." if named and bare else ""
            raise BadArguments(f"{method}: {misfit}.{hint}") from None
        known = [name for name in takes.parameters if name != "self"]
        hint = METHOD.get(ask.__name__) or nearest(unknown, known)
        raise BadArguments(f"{method} takes no argument {unknown!r}.{hint}") from None


class sync_or_async(Generic[P, T]):  # noqa: N801 (used as `property` is)
    """Turn a method that returns an operation into one that runs it; type checkers see both return types."""

    def __init__(self, ask: Callable[Concatenate[Any, P], Operation[T]]) -> None:
        def method(face: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                operation = ask(face, *args, **kwargs)
            except TypeError:
                _refuse_misfit(type(face).__name__, ask, face, args, kwargs)
                raise
            answer = face.run(operation)
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
