"""Who asks, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a key allows; a wider scope contains the narrower ones."""

    READ = "read"
    ENQUEUE = "enqueue"
    OPERATE = "operate"
    ADMIN = "admin"


_CONTAINS = {
    Scope.READ: {Scope.READ},
    Scope.ENQUEUE: {Scope.READ, Scope.ENQUEUE},
    Scope.OPERATE: {Scope.READ, Scope.ENQUEUE, Scope.OPERATE},
    Scope.ADMIN: set(Scope),
}


_NAMELESS = ("local", "anonymous")


@dataclass(frozen=True, slots=True)
class Caller:
    """`id` is the key's id, and `name` what people call it; audit and history name it as `actor`."""

    id: str
    name: str
    scopes: frozenset[Scope]
    session: str | None = None  # the id of the session, if a browser's cookie said who it is

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
    """Scopes from the narrowest to the widest."""
    held = set(scopes)
    return [scope for scope in Scope if scope in held]
