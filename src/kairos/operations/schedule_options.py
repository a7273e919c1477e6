"""The options of a schedule, and the options of a call that a schedule cannot have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import BadRequest
from kairos.machine.call import Call, Options
from kairos.machine.field_checks import check_instant, check_name, check_range
from kairos.other_libraries import SCHEDULE
from kairos.schedule.tick_policy import CATCH_UPS, OVERLAPS
from kairos.suggest import did_you_mean

_LARGEST_COUNT = 2**31 - 1
# Call options that apply to a single job; a schedule enqueues many, each due at its tick.
_SINGLE_JOB_OPTIONS = ("run_at", "delay", "when", "expires_at", "unique", "reply_to", "ordered", "max_reaps")
_DEFAULT_OPTIONS = Options()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """The options of a schedule: time zone, overlap, catch-up, jitter, start, end and count."""

    tz: str = "UTC"
    overlap: str = "allow"
    catch_up: str = "last"
    catch_up_within: Duration = "1d"
    jitter: Duration = 0
    start: datetime | None = None
    end: datetime | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        check_name(self.tz, "tz")
        _one_of(self.overlap, "overlap", OVERLAPS)
        _one_of(self.catch_up, "catch_up", CATCH_UPS)
        duration(self.catch_up_within, "catch_up_within")
        duration(self.jitter, "jitter")
        if self.count is not None:
            check_range(self.count, "count", 1, _LARGEST_COUNT)
        for name in ("start", "end"):
            if (instant := getattr(self, name)) is not None:
                check_instant(instant, name)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ScheduleOptions:
        """Return the options given by name; raise for an unknown name."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                meant = SCHEDULE.get(name)
                hint = f" Write {meant}." if meant else did_you_mean(name, known)
                raise BadRequest(f"A schedule has no option {name!r}.{hint}", field=name)
        return cls(**given)


def check_call(call: Call) -> None:
    """Refuse a call with options that apply only to a single job."""
    if not isinstance(call, Call):
        raise BadRequest(f"Schedule a call such as send.call(user_id=7), not {call!r}.", field="call")
    for name in _SINGLE_JOB_OPTIONS:
        if getattr(call.options, name) != getattr(_DEFAULT_OPTIONS, name):
            raise BadRequest(
                f"{name} belongs to a single job, and a schedule makes many: leave it out.", field=name
            )


def _one_of(value: str, field: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise BadRequest(f"{field} is {value!r}; it is one of {', '.join(allowed)}.", field=field)
