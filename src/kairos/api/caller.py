"""The caller of a request and its scopes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kairos.shapes.key import Scope

_CONTAINS = {
    Scope.READ: {Scope.READ},
    Scope.ENQUEUE: {Scope.READ, Scope.ENQUEUE},
    Scope.OPERATE: {Scope.READ, Scope.ENQUEUE, Scope.OPERATE},
    Scope.ADMIN: set(Scope),
}


_NAMELESS = ("local", "anonymous")


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: `id` is the key's id, `name` the name people gave the key; audit and history record `actor`."""

    id: str
    name: str
    scopes: frozenset[Scope]
    session: str | None = None  # the id of the session, if a cookie identified the caller

    @property
    def actor(self) -> str:
        return self.id if self.id in _NAMELESS else f"key:{self.id}"

    @property
    def is_local(self) -> bool:
        return self.id == "local"

    def may(self, scope: Scope) -> bool:
        return any(scope in _CONTAINS[held] for held in self.scopes)


ANONYMOUS = Caller("anonymous", "anonymous", frozenset())
LOCAL = Caller("local", "local", frozenset({Scope.ADMIN}))


def in_order(scopes: Iterable[Scope]) -> list[Scope]:
    """Return the scopes from the narrowest to the widest."""
    held = set(scopes)
    return [scope for scope in Scope if scope in held]
