"""Refuse unknown query parameters, and suggest the nearest known one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from kairos.errors import BadRequest


def query_names(route: APIRoute) -> frozenset[str]:
    """Return the names in the URL of all query parameters of a route and its dependencies."""
    return frozenset(_names(route.dependant))


def _names(dependant: Dependant) -> Iterator[str]:
    for parameter in dependant.query_params:
        yield parameter.alias
    for each in dependant.dependencies:
        yield from _names(each)


def check_query(given: QueryParams, known: Collection[str]) -> None:
    """Refuse a parameter that would be ignored: with a misspelt filter the response would contain every job."""
    for name in given:
        if name not in known:
            raise BadRequest(
                f"There is no query parameter {name[:100]!r} here: {_hint(name, known)}.", field=name[:100]
            )


def _hint(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    if near := get_close_matches(name, names, 1):
        return f"the nearest is {near[0]!r}"
    return f"it takes {', '.join(names)}" if names else "it takes none"
