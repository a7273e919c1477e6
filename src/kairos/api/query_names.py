"""Refuse unknown query parameters, and suggest the nearest known one; refuse one that is given twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from kairos.errors import BadRequest


def query_names(route: APIRoute) -> dict[str, bool]:
    """Return the names in the URL of all query parameters of a route, and whether each may be given several times."""
    return dict(_names(route.dependant))


def _names(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    for parameter in dependant.query_params:
        yield parameter.alias, _is_list(parameter.field_info.annotation)
    for each in dependant.dependencies:
        yield from _names(each)


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(get_origin(each) is list for each in get_args(annotation))


def check_query(given: QueryParams, known: Mapping[str, bool]) -> None:
    """Refuse a parameter that would be ignored: with a misspelt filter the response would contain every job."""
    times = Counter(name for name, _ in given.multi_items())
    for name, count in times.items():
        if name not in known:
            raise BadRequest(
                f"There is no query parameter {name[:100]!r} here: {_hint(name, known)}.", field=name[:100]
            )
        if count > 1 and not known[name]:
            raise BadRequest(f"The query parameter {name!r} takes one value: give it once.", field=name)


def _hint(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    if near := get_close_matches(name, names, 1):
        return f"the nearest is {near[0]!r}"
    return f"it takes {', '.join(names)}" if names else "it takes none"
