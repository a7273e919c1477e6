"""One source for both worlds: a verb as a method, whose answer is a value or something to await."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from kairos.store.query import Verb

P = ParamSpec("P")
T = TypeVar("T")


class Awaiting(ABC):
    """Whoever answers with something to await."""

    @abstractmethod
    async def run(self, verb: Verb[T]) -> T:
        """Run one verb of `kairos.verbs`."""


class Blocking(ABC):
    """Whoever answers with values."""

    @abstractmethod
    def run(self, verb: Verb[T]) -> T:
        """Run one verb of `kairos.verbs`."""


class answered(Generic[P, T]):  # noqa: N801 (used as `property` is)
    """Makes a method that returns a verb into one that runs it; a type checker sees the answer of each world."""

    def __init__(self, ask: Callable[Concatenate[Any, P], Verb[T]]) -> None:
        def method(face: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return face.run(ask(face, *args, **kwargs))

        functools.update_wrapper(method, ask)
        self._bind: Callable[[object, type], Callable[..., Any]] = method.__get__

    @overload
    def __get__(self, face: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, face: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, face: object, owner: type) -> Callable[..., Any]: ...
    def __get__(self, face: object, owner: type) -> Callable[..., Any]:
        return self._bind(face, owner)
