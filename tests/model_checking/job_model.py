"""The life of one job with two workers, two signals, a TTL and a cancel, as the engine's statements let it happen.

A mutant is the name of a guard that is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kairos.fsm.lifecycle import TERMINAL_STATUSES, Status, stored_pairs

RUNNABLE, EXECUTING, WAITING = Status.RUNNABLE, Status.EXECUTING, Status.AWAITING_SIGNAL
LAST_STEP, MOST_LEASES, SIGNALS = 2, 4, 2


@dataclass(frozen=True)
class Claim:
    """What a worker believes: a step of the job, under a lease, with the signals it was shown."""

    lease: int
    step: int
    shown: frozenset[int]


@dataclass(frozen=True)
class Life:
    status: Status = RUNNABLE
    lease: int = 0
    holder: int | None = None
    step: int = 0
    inbox: frozenset[int] = frozenset()
    sent: int = 0
    seen: frozenset[int] = frozenset()  # shown to the step that parked
    closed: bool = False  # its TTL
    asked: bool = False  # to stop
    claims: tuple[Claim | None, Claim | None] = (None, None)
    commits: tuple[int, ...] = ()  # the steps that were committed, as they were


class Engine:
    """What can happen next."""

    def __init__(self, mutant: str = "") -> None:
        self._mutant = mutant

    def __call__(self, life: Life) -> Iterator[tuple[str, Life]]:
        for worker in (0, 1):
            yield from self._worker(life, worker)
        yield from self._others(life)

    def _worker(self, life: Life, worker: int) -> Iterator[tuple[str, Life]]:
        claim = life.claims[worker]
        if claim is None:
            if life.status is RUNNABLE and self._may_pick(life) and life.lease < MOST_LEASES:
                claim = Claim(life.lease + 1, life.step, life.inbox)
                picked = replace(life, status=EXECUTING, lease=claim.lease, holder=worker)
                yield f"w{worker} picks", _holding(picked, worker, claim)
            return
        dropped = _holding(life, worker, None)
        yield f"w{worker} dies", dropped
        if not self._is_fresh(life, claim):
            yield f"w{worker} is stale", dropped
            return
        freed = replace(dropped, holder=None, commits=(*life.commits, claim.step))
        if life.asked and self._mutant != "cancel forgotten":
            yield f"w{worker} yields", replace(freed, status=Status.CANCELLED, commits=life.commits)
        elif claim.step < LAST_STEP:
            yield f"w{worker} goes on", replace(freed, status=RUNNABLE, step=claim.step + 1)
            yield f"w{worker} parks", self._parked(freed, claim)
        if claim.step == LAST_STEP or self._mutant == "cancel forgotten":
            yield f"w{worker} is done", replace(freed, status=Status.DONE)

    def _others(self, life: Life) -> Iterator[tuple[str, Life]]:
        if life.status is EXECUTING:
            yield "reap", replace(life, status=Status.CANCELLED if life.asked else RUNNABLE, holder=None)
        if life.sent < SIGNALS and life.status not in TERMINAL_STATUSES:
            arrived = replace(life, inbox=life.inbox | {life.sent}, sent=life.sent + 1)
            yield "signal", replace(arrived, status=RUNNABLE) if life.status is WAITING else arrived
        if not life.closed:
            yield "the TTL closes", replace(life, closed=True)
        elif life.status is RUNNABLE or (
            self._mutant == "expires while running" and life.status is EXECUTING
        ):
            yield "expire", replace(life, status=Status.EXPIRED, holder=None)
        if life.status in (RUNNABLE, WAITING):
            yield "cancel", replace(life, status=Status.CANCELLED)
        elif life.status is EXECUTING and not life.asked:
            yield "cancel", replace(life, asked=True)

    def _may_pick(self, life: Life) -> bool:
        return not life.closed or self._mutant == "picks after its TTL"

    def _is_fresh(self, life: Life, claim: Claim) -> bool:
        match self._mutant:
            case "no fence":
                return True
            case "fenced by status":
                return life.status is EXECUTING
            case "fenced by lease alone":
                return life.lease == claim.lease
        return life.status is EXECUTING and life.lease == claim.lease

    def _parked(self, freed: Life, claim: Claim) -> Life:
        unseen = freed.inbox - claim.shown
        if self._mutant == "no second look":
            unseen = frozenset()
        if self._mutant == "wakes by what it saw":
            unseen = freed.inbox
        return replace(freed, status=RUNNABLE if unseen else WAITING, seen=claim.shown)


def only_the_lifecycle(before: Life, name: str, after: Life) -> str | None:
    pair = (before.status, after.status)
    return None if pair[0] == pair[1] or pair in stored_pairs() else f"{pair[0]} became {pair[1]}"


def no_step_is_committed_twice(before: Life, name: str, after: Life) -> str | None:
    """Parking commits a step that runs again: that is what waking is for. A step that went on never comes back."""
    again = after.commits[-1:] and any(step > after.commits[-1] for step in after.commits)
    return "a step was committed after a later one" if again else None


def no_wake_up_is_lost(before: Life, name: str, after: Life) -> str | None:
    unseen = after.status is WAITING and after.inbox - after.seen
    return "it waits for a signal that is there" if unseen else None


def no_park_spins(before: Life, name: str, after: Life) -> str | None:
    """A park that leaves it runnable must have had something new to show."""
    parked = name.endswith("parks") and after.status is RUNNABLE
    return "it woke by what it had already seen" if parked and not after.inbox - after.seen else None


def nothing_runs_past_its_ttl(before: Life, name: str, after: Life) -> str | None:
    return "picked after its TTL closed" if name.endswith("picks") and before.closed else None


def a_lease_only_grows(before: Life, name: str, after: Life) -> str | None:
    return "the lease went back" if after.lease < before.lease else None


def who_commits_holds_it(before: Life, name: str, after: Life) -> str | None:
    """A commit is by the claim that the row knows of, and no other."""
    if len(after.commits) == len(before.commits):
        return None
    claim = before.claims[int(name[1])]
    holds = claim is not None and claim.lease == before.lease and before.holder == int(name[1])
    return None if holds else "a zombie committed"


def asked_to_stop_means_stop(before: Life, name: str, after: Life) -> str | None:
    went_on = before.asked and before.status is EXECUTING and after.status in (RUNNABLE, WAITING)
    return "it was asked to stop and went on" if went_on else None


LAWS = (
    only_the_lifecycle,
    who_commits_holds_it,
    no_step_is_committed_twice,
    no_wake_up_is_lost,
    no_park_spins,
    nothing_runs_past_its_ttl,
    a_lease_only_grows,
    asked_to_stop_means_stop,
)


def _holding(life: Life, worker: int, claim: Claim | None) -> Life:
    claims = (claim, life.claims[1]) if worker == 0 else (life.claims[0], claim)
    return replace(life, claims=claims)
