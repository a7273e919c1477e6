"""Restore redacted values that a client sends back unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kairos.errors import BadRequest
from kairos.machine.step_log import REDACTED


def restore_redacted(given: Mapping[str, Any], stored: Any, redacted: Iterable[str]) -> Mapping[str, Any]:
    """Return the new arguments, with the stored value in place of each "[redacted]".

    `redacted` names the redacted fields as `serializers.redact` does: `card.number`, also in each item of a list.
    """
    found: Any = given
    for field in sorted(redacted):
        found = _restore(found, stored, field, "input")
    return dict(found)


def _restore(given: Any, stored: Any, field: str, place: str) -> Any:
    if isinstance(given, list):
        # The items of a list whose length changed cannot be matched with the stored ones.
        others = stored if isinstance(stored, list) and len(stored) == len(given) else [None] * len(given)
        return [
            _restore(each, other, field, f"{place}[{index}]")
            for index, (each, other) in enumerate(zip(given, others, strict=True))
        ]
    if not isinstance(given, dict):
        return given
    there = stored if isinstance(stored, dict) else {}
    if field in given:
        if given[field] != REDACTED:
            return given
        if field not in there:
            raise BadRequest(
                f"{place}.{field} is {REDACTED!r}, and nothing is stored there: give its value.",
                field=f"{place}.{field}",
            )
        return {**given, field: there[field]}
    head, dot, rest = field.partition(".")
    if not dot or head not in given:
        return given
    return {**given, head: _restore(given[head], there.get(head), rest, f"{place}.{head}")}
