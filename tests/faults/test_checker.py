"""The checker of the chaos runs: it is silent about a sound run and names each broken promise."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from chaos.checker import Record, check


def step(job: int, lease: int, n: int, at: float) -> list[dict[str, Any]]:
    """What a step tells of itself."""
    shared = {"job": job, "lease": lease, "n": n, "step": "work", "pid": 1}
    return [
        {"e": "begin", "t": at, "wall": at, **shared},
        {"e": "end", "t": at + 1, "wall": at + 1, **shared},
    ]


def change(
    job: int, old: str | None, new: str, lease: tuple[int, int], n: tuple[int, int], at: float
) -> dict[str, Any]:
    """What the trigger tells of a change."""
    shared = {"job": job, "action": "walk", "key": "red", "expires": 100.0, "now": at, "wall": at}
    numbers = {"old_lease": lease[0], "new_lease": lease[1], "old_n": n[0], "new_n": n[1]}
    return {"old": old, "new": new, **numbers, **shared}


def sound() -> Record:
    """A walk of two steps by one claim, a letter, a family, and nothing wrong with any of them."""
    walk = {"id": 1, "action": "walk", "status": "done", "output": 1, "reply_to": None, "token": "a"}
    inbox = {"id": 2, "action": "inbox", "status": "done", "output": [7], "reply_to": None, "token": "b"}
    family = {"id": 3, "action": "family", "status": "done", "output": [0], "reply_to": None, "token": "c"}
    child = {"id": 4, "action": "child", "status": "done", "output": 0, "reply_to": 3, "token": None}
    clients = [{"e": "ask", "token": token} for token in "abc"]
    clients += [{"e": "ack", "job": number} for number in (1, 2, 3)]
    clients += [{"e": "sent", "job": 2, "number": 7, "answer": "woke"}]
    return Record(
        journal=[*clients, *step(1, 1, 0, 10), *step(1, 2, 1, 12)],
        jobs=[walk, inbox, family, child],
        audit=[
            change(1, "runnable", "executing", (0, 1), (0, 0), 9),
            change(1, "executing", "executing", (1, 2), (0, 1), 11.5),
            change(1, "executing", "done", (2, 2), (1, 1), 13.5),
        ],
        effects=[{"job": 1, "n": 1}],
        steps=2,
        children=1,
    )


def test_a_sound_run_has_no_violations():
    assert check(sound()) == []


def lose_a_job(run: Record) -> None:
    del run.jobs[1]


def leave_a_job(run: Record) -> None:
    run.jobs[0]["status"] = "executing"
    run.jobs[0]["action"] = "other"


def end_twice(run: Record) -> None:
    run.audit.append(change(1, "executing", "done", (2, 2), (1, 1), 14))


def make_one_up(run: Record) -> None:
    run.jobs[2]["token"] = "z"


def accept_twice(run: Record) -> None:
    run.jobs.append({**run.jobs[1], "id": 9})


def leave_an_end(run: Record) -> None:
    run.audit.append(change(1, "done", "runnable", (2, 2), (1, 1), 14))


def commit_early(run: Record) -> None:
    run.audit[2]["wall"] = 12.5


def commit_for_another(run: Record) -> None:
    run.audit[2].update(old_lease=3, new_lease=3)


def commit_again(run: Record) -> None:
    run.audit.insert(1, change(1, "executing", "executing", (1, 1), (0, 1), 11.4))


def overlap(run: Record) -> None:
    run.journal += step(5, 1, 0, 10.5)
    run.audit += [change(5, "executing", "done", (1, 1), (0, 0), 20)]


def claim_a_held_key(run: Record) -> None:
    run.audit.insert(1, change(5, "runnable", "executing", (0, 1), (0, 0), 10))


def lose_a_letter(run: Record) -> None:
    run.jobs[1]["output"] = []


def double_a_letter(run: Record) -> None:
    run.jobs[1]["output"] = [7, 7]


def lower_a_lease(run: Record) -> None:
    run.audit.append(change(1, "executing", "executing", (2, 1), (1, 1), 14))


def expire_early(run: Record) -> None:
    run.audit.append(change(6, "runnable", "expired", (0, 0), (0, 0), 99.9))


def claim_late(run: Record) -> None:
    run.audit.append(change(6, "runnable", "executing", (0, 1), (0, 0), 100.0))


def claim_the_cancelled(run: Record) -> None:
    run.journal.append({"e": "cancelled", "job": 1, "wall": 5})


def lose_an_effect(run: Record) -> None:
    run.effects.clear()


def double_an_effect(run: Record) -> None:
    run.effects *= 2


def double_a_child(run: Record) -> None:
    run.jobs.append({**run.jobs[3], "id": 9})


FAULTS = {
    "accepted_jobs_end": (lose_a_job, leave_a_job, end_twice),
    "nothing_from_nowhere": (make_one_up, accept_twice),
    "only_allowed_changes": (leave_an_end,),
    "steps_are_committed_once_and_in_order": (commit_early, commit_for_another, commit_again),
    "a_key_runs_one_step_at_a_time": (overlap, claim_a_held_key),
    "letters_arrive_once": (lose_a_letter, double_a_letter),
    "leases_only_rise": (lower_a_lease,),
    "ttl_is_exact": (expire_early, claim_late),
    "cancelled_jobs_are_not_claimed": (claim_the_cancelled,),
    "effects_come_with_their_commit": (lose_an_effect, double_an_effect),
    "families_are_complete": (double_a_child,),
}


@pytest.mark.parametrize(("rule", "fault"), [(rule, fault) for rule in FAULTS for fault in FAULTS[rule]])
def test_a_broken_promise_is_named(rule, fault):
    run = deepcopy(sound())
    fault(run)
    assert rule in {said.partition(":")[0] for said in check(run)}
