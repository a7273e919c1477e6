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


def _restore(given: Any, stored: Any, field: str, path: str) -> Any:
    if isinstance(given, list):
        # The items of a list whose length changed cannot be matched with the stored ones.
        others = stored if isinstance(stored, list) and len(stored) == len(given) else [None] * len(given)
        return [
            _restore(each, other, field, f"{path}[{index}]")
            for index, (each, other) in enumerate(zip(given, others, strict=True))
        ]
    if not isinstance(given, dict):
        return given
    stored_fields = stored if isinstance(stored, dict) else {}
    if field in given:
        if given[field] != REDACTED:
            return given
        if field not in stored_fields:
            raise BadRequest(
                f"{path}.{field} is {REDACTED!r}, and nothing is stored there: give its value.",
                field=f"{path}.{field}",
            )
        return {**given, field: stored_fields[field]}
    head, dot, rest = field.partition(".")
    if not dot or head not in given:
        return given
    return {**given, head: _restore(given[head], stored_fields.get(head), rest, f"{path}.{head}")}
