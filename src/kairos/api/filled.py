"""What a caller was not shown, and sends back as it was shown, stays what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kairos.documents import HIDDEN
from kairos.errors import BadRequest


def filled(given: Mapping[str, Any], stored: Any, unshown: Iterable[str]) -> Mapping[str, Any]:
    """The new arguments, with what is stored in place of each mark that hides it.

    The fields are found as `documents.hidden` finds them: `card.number` also in each of a list.
    """
    found: Any = given
    for field in sorted(unshown):
        found = _fill(found, stored, field, "input")
    return dict(found)


def _fill(given: Any, stored: Any, field: str, place: str) -> Any:
    if isinstance(given, list):
        # In a list that is longer or shorter now, nobody knows which was which.
        others = stored if isinstance(stored, list) and len(stored) == len(given) else [None] * len(given)
        return [
            _fill(each, other, field, f"{place}[{index}]")
            for index, (each, other) in enumerate(zip(given, others, strict=True))
        ]
    if not isinstance(given, dict):
        return given
    there = stored if isinstance(stored, dict) else {}
    if field in given:
        if given[field] != HIDDEN:
            return given
        if field not in there:
            raise BadRequest(
                f"{place}.{field} is {HIDDEN!r}, and nothing is stored there: give its value.",
                field=f"{place}.{field}",
            )
        return {**given, field: there[field]}
    head, dot, rest = field.partition(".")
    if not dot or head not in given:
        return given
    return {**given, head: _fill(given[head], there.get(head), rest, f"{place}.{head}")}
