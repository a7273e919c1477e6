"""What the engine should answer, in memory: the oracle of the stateful test.

Times are whole microseconds since the beginning. Which statuses follow which is not decided here: `move` looks it up in
the lifecycle's own table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kairos.fsm.lifecycle import TERMINAL_STATUSES, Status, stored_pairs

SECOND = 1_000_000
LEASE = 30 * SECOND


@dataclass
class Job:
    id: int
    priority: int
    key: str | None
    ordered: bool
    unique: str | None
    eligible: int
    expires: int | None
    max_reaps: int
    status: Status = Status.RUNNABLE
    step: str = "run"
    attempt: int = 0
    reaps: int = 0
    lease: int = 0
    worker: str | None = None
    lease_until: int = 0
    awaits: tuple[str, ...] = ()
    await_until: int | None = None
    then: str | None = None
    asked: bool = False
    inbox: dict[int, str] = field(default_factory=dict)
    dedup: set[str] = field(default_factory=set)
    shown: frozenset[int] = frozenset()  # what the step that parked it had seen

    @property
    def is_live(self) -> bool:
        return self.status not in TERMINAL_STATUSES

    @property
    def place(self) -> tuple[int, int, int]:
        return self.priority, self.eligible, self.id

    def move(self, status: Status) -> None:
        assert status == self.status or (self.status, status) in stored_pairs()
        self.status = status
        if status is not Status.EXECUTING:
            self.worker = None

    def snapshot(self) -> tuple[object, ...]:
        waits = self.status is Status.AWAITING_SIGNAL
        return (
            self.id,
            str(self.status),
            self.step,
            self.attempt,
            self.lease,
            self.worker,
            self.eligible,
            self.lease_until if self.worker else None,
            list(self.awaits) if waits else None,
            self.await_until if waits else None,
            self.asked,
        )


class Model:
    def __init__(self) -> None:
        self.now = 0
        self.jobs: dict[int, Job] = {}

    def holder(self, unique: str | None) -> Job | None:
        held = (job for job in self.jobs.values() if unique and job.unique == unique and job.is_live)
        return next(held, None)

    def deadlines(self) -> list[int]:
        """The instants still to come at which something ends or falls due."""
        times: set[int | None] = set()
        for job in self.jobs.values():
            match job.status:
                case Status.RUNNABLE:
                    times |= {job.eligible, job.expires}
                case Status.EXECUTING:
                    times |= {job.lease_until, job.expires}
                case Status.AWAITING_SIGNAL:
                    times.add(job.await_until)
        return sorted(time for time in times if time is not None and time > self.now)

    # What a pick may claim

    def is_due(self, job: Job) -> bool:
        open_ = job.expires is None or job.expires > self.now
        return job.status is Status.RUNNABLE and job.eligible <= self.now and open_

    def head(self, key: str) -> Job | None:
        line = [job for job in self.jobs.values() if job.key == key]
        if any(job.status is Status.EXECUTING for job in line):
            return None
        places = [job for job in line if job.status is Status.RUNNABLE and job.ordered and job.lease > 0]
        if places:
            first = min(places, key=lambda job: job.id)
            return first if self.is_due(first) else None
        return min(filter(self.is_due, line), key=lambda job: job.place, default=None)

    def claimable(self) -> set[int]:
        plain = {job.id for job in self.jobs.values() if job.key is None and self.is_due(job)}
        keys = {job.key for job in self.jobs.values() if job.key is not None}
        return plain | {job.id for key in keys if (job := self.head(key)) is not None}

    # What happens

    def picked(self, job: Job, worker: str) -> None:
        job.move(Status.EXECUTING)
        job.lease += 1
        job.worker, job.lease_until = worker, self.now + LEASE

    def is_fresh(self, job: Job, worker: str, lease: int) -> bool:
        return job.status is Status.EXECUTING and job.worker == worker and job.lease == lease

    def go_on(
        self, job: Job, verb: str, delay: int = 0, step: str | None = None, ahead: bool = False
    ) -> None:
        """Next, replay, retry or release; a cancel request has the last word."""
        if ahead:
            job.lease += 1
        job.attempt = 0 if verb == "next" else job.attempt + (verb in ("replay", "retry"))
        job.reaps = job.reaps if verb == "release" else 0
        job.step = step or job.step
        if verb != "release":
            job.eligible = self.now + delay
        if job.asked:
            job.move(Status.CANCELLED)
        elif not (ahead and (job.expires is None or job.expires > self.now)):
            job.move(Status.RUNNABLE)

    def park(
        self, job: Job, names: tuple[str, ...], shown: frozenset[int], timeout: int | None, then: str | None
    ) -> None:
        job.reaps = 0
        if job.asked:
            job.move(Status.CANCELLED)
            return
        job.move(Status.AWAITING_SIGNAL)
        job.awaits, job.then, job.shown = names, then, shown
        job.await_until = None if timeout is None else self.now + timeout
        if any(name in names and signal not in shown for signal, name in job.inbox.items()):
            self.wake(job)

    def wake(self, job: Job) -> None:
        job.move(Status.RUNNABLE)
        job.eligible = self.now

    def signal(self, job: Job, name: str, dedup: str | None) -> str:
        if not job.is_live:
            return "finished"
        if dedup in job.dedup:
            return "duplicate"
        if dedup is not None:
            job.dedup.add(dedup)
        in_time = job.await_until is None or self.now < job.await_until
        if job.status is Status.AWAITING_SIGNAL and name in job.awaits and in_time:
            self.wake(job)
            return "woke"
        return "delivered"

    def reap(self) -> set[int]:
        lost = [j for j in self.jobs.values() if j.status is Status.EXECUTING and j.lease_until <= self.now]
        for job in lost:
            # Nobody here runs alone.
            poisoned = job.max_reaps == 0 or job.reaps >= 4 * job.max_reaps
            job.move(Status.CANCELLED if job.asked else Status.FAILED if poisoned else Status.RUNNABLE)
            job.attempt += 1
            job.reaps += 1
        return {job.id for job in lost}

    def expire(self) -> set[int]:
        closed = [
            job
            for job in self.jobs.values()
            if job.status is Status.RUNNABLE and job.expires is not None and job.expires <= self.now
        ]
        for job in closed:
            job.move(Status.EXPIRED)
        return {job.id for job in closed}

    def time_out(self) -> set[int]:
        late = [
            job
            for job in self.jobs.values()
            if job.status is Status.AWAITING_SIGNAL
            and job.await_until is not None
            and job.await_until <= self.now
        ]
        for job in late:
            self.wake(job)
            if job.then is not None:
                job.step, job.attempt = job.then, 0
        return {job.id for job in late}
