"""The settings of a worker, with their defaults and checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from kairos import defaults
from kairos.durations import Duration, duration
from kairos.errors import ConfigError
from kairos.machine.field_checks import check_name


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The settings of a worker. `queues` may map a queue to how many of its jobs this worker runs at once.

    A random suffix is added to `name`, so that two workers with the same name, or a worker and its successor, differ.
    """

    queues: Sequence[str] | Mapping[str, int | None] = ("default",)
    concurrency: int = defaults.CONCURRENCY
    lease: Duration = defaults.LEASE
    poll: Duration = defaults.POLL
    grace: Duration = defaults.GRACE
    retention: Duration = defaults.RETENTION
    name: str | None = None

    def __post_init__(self) -> None:
        if not self.queues:
            raise ConfigError("A worker needs at least one queue.")
        if isinstance(self.queues, str):
            raise ConfigError("queues is text; give a list of names.")
        if not isinstance(self.queues, Collection):
            raise ConfigError(f"queues is {self.queues!r}; give a list of names.")
        for queue in self.queues:
            check_name(queue, "queues")
        if not isinstance(self.concurrency, int) or self.concurrency < 1:
            raise ConfigError(f"concurrency is {self.concurrency!r}; a worker runs at least 1 job at once.")
        for name in ("poll", "grace", "retention"):
            duration(getattr(self, name), name)
        if duration(self.lease, "lease") < timedelta(seconds=0.3):
            raise ConfigError(f"lease is {self.lease}; under 0.3 s it would expire between two renewals.")

    @property
    def local_limits(self) -> dict[str, int | None]:
        return dict(self.queues) if isinstance(self.queues, Mapping) else dict.fromkeys(self.queues)
