"""A claim: one picked job, as the worker carries it from the pick to the commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kairos.machine.context import Signal


class Claim:
    """A job that this worker has leased.

    Run-ahead changes it in place: the worker goes on with the job's next step under a new lease token, without a pick.
    """

    __slots__ = (
        "action",
        "attempt",
        "buffered_at",
        "due",
        "id",
        "inbox",
        "inbox_is_whole",
        "key",
        "lease",
        "picked",
        "priority",
        "queue",
        "reply_to",
        "retry",
        "signalled",
        "state",
        "step",
        "steps_ahead",
        "suspect",
        "timed_out",
        "trace",
        "version",
    )

    # The parameters after the queue are the columns that a pick answers, in their order.
    def __init__(
        self,
        queue: str,
        id: int,  # noqa: A002 (the word everyone uses)
        lease: int,
        action: str,
        version: int,
        step: str,
        state: str,
        attempt: int,
        key: str | None,
        awaits: Sequence[str] | None,
        reply_to: int | None,
        signalled: bool | None = None,
        suspect: bool | None = None,
        picked: int | None = None,
        trace: str | None = None,
        retry: str | None = None,
        due: int | None = None,
        priority: int | None = None,
    ) -> None:
        self.queue = queue
        self.id = id
        self.lease = lease
        self.action = action
        self.version = version
        self.step = step
        self.state = state
        self.attempt = attempt
        self.key = key
        self.timed_out = tuple(awaits) if awaits else ()
        self.reply_to = reply_to
        # Whether it ever had a signal: then its inbox is loaded before the step.
        self.signalled = signalled is True
        self.inbox: tuple[Signal, ...] = ()
        self.inbox_is_whole = True  # False if the inbox holds more than a step is shown
        self.steps_ahead = 0
        self.buffered_at = 0.0  # since when it waits for a lane, by the monotonic clock
        self.picked = picked  # when this step began, by the database, in microseconds
        self.trace = trace
        self.due = due  # when it was due, in microseconds; None once it runs ahead
        self.priority = priority or 0
        self.retry = retry  # the job's own policy as it is stored, read only when a step fails
        self.suspect = suspect is True  # it may have killed its workers: so many were lost while they ran it

    def __repr__(self) -> str:
        return f"<Claim {self.id} {self.action}.{self.step} lease {self.lease}>"


def read_claims(queue: str, rows: Iterable[Any]) -> Iterator[Claim]:
    """Return the claims among the rows of a pick; rows without a lease were not claimed."""
    for row in rows:
        if row[1] is not None:
            yield Claim(queue, *row)
