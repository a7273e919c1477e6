"""The thresholds of alarms: defaults from the table of kinds, changed by the setting `alarm_after`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from kairos.alarms.kinds import KINDS
from kairos.durations import duration
from kairos.errors import BadRequest, ConfigError

# A worker sends a heartbeat every 10 s; after two missed ones, when the third is due, it counts as gone.
LIVE_FOR = timedelta(seconds=30)
# A vacuum is overdue at this many dead rows and a fifth of the live ones.
DEAD_ROWS = 100_000

_DEFAULTS = {kind.name: kind.after for kind in KINDS.values() if kind.after is not None}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds; `waiting` holds, by action, how long a wait for a signal without a deadline may last."""

    after: Mapping[str, timedelta] = field(default_factory=lambda: MappingProxyType(_DEFAULTS))
    waiting: Mapping[str, timedelta] = field(default_factory=dict)
    live_for: timedelta = LIVE_FOR
    dead_rows: int = DEAD_ROWS

    @classmethod
    def of(cls, setting: Mapping[str, Any] | str | None) -> Thresholds:
        """Return the defaults with changes such as `jobs_overdue=10m, jobs_waiting.order=3d`."""
        after, waiting = dict(_DEFAULTS), {}
        for name, value in _pairs(setting):
            try:
                length = duration(value, f"alarm_after of {name}")
            except BadRequest as error:
                raise ConfigError(error.message) from error
            kind, dot, action = name.partition(".")
            if dot and kind == "jobs_waiting" and action:
                waiting[action] = length
            elif name in after:
                after[name] = length
            else:
                raise ConfigError(
                    f"alarm_after has {name!r}; it may have {', '.join(after)}, or jobs_waiting.ACTION."
                )
        return cls(after, waiting)


def _pairs(setting: Mapping[str, Any] | str | None) -> list[tuple[str, Any]]:
    if setting is None:
        return []
    if isinstance(setting, str):
        parts = [part.partition("=") for part in setting.split(",") if part.strip()]
        return [(name.strip(), value.strip()) for name, _, value in parts]
    # In kairos.toml, `jobs_waiting.order = "3d"` is a table within a table.
    pairs: list[tuple[str, Any]] = []
    for name, value in setting.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}.{inner}", each) for inner, each in value.items()]
        else:
            pairs.append((name, value))
    return pairs
