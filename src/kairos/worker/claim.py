"""A claim: one picked job, as the worker carries it from the pick to the commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from kairos.machine.context import Signal


class Claim:
    """A job under this worker's lease. Mutable only by run-ahead, which moves it to its next step."""

    __slots__ = (
        "action",
        "attempt",
        "due",
        "id",
        "inbox",
        "key",
        "lease",
        "picked",
        "queue",
        "reply_to",
        "retry",
        "state",
        "step",
        "steps_ahead",
        "suspect",
        "timed_out",
        "trace",
        "version",
    )

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
        timed_out: tuple[str, ...],
        reply_to: int | None,
        inbox: tuple[Signal, ...],
        suspect: bool = False,
        picked: int | None = None,
        trace: str | None = None,
        due: datetime | None = None,
        retry: str | None = None,
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
        self.timed_out = timed_out
        self.reply_to = reply_to
        self.inbox = inbox
        self.steps_ahead = 0
        self.picked = picked  # when this step began, by the database, in microseconds
        self.trace = trace
        self.due = due  # None once it runs ahead
        self.retry = retry  # the job's own policy as it is stored, read only when a step fails
        self.suspect = suspect  # its worker was lost so often that it may be the cause

    def __repr__(self) -> str:
        return f"<Claim {self.id} {self.action}.{self.step} lease {self.lease}>"


def read_claims(queue: str, rows: Iterable[Any]) -> Iterator[Claim]:
    """The claims among the rows of a pick; candidates that still need their key are not among them."""
    for row in rows:
        (
            id_,
            lease,
            action,
            version,
            step,
            state,
            attempt,
            key,
            awaits,
            reply_to,
            inbox,
            suspect,
            picked,
            trace,
            retry,
            _,
            due,
            claimed,
        ) = row
        if claimed:
            yield Claim(
                queue,
                id_,
                lease,
                action,
                version,
                step,
                state,
                attempt,
                key,
                tuple(awaits) if awaits else (),
                reply_to,
                _inbox(inbox) if inbox else (),
                suspect,
                picked,
                trace,
                due,
                retry,
            )


def _inbox(text: str) -> tuple[Signal, ...]:
    return tuple(Signal(each["id"], each["name"], each["payload"]) for each in json.loads(text))
