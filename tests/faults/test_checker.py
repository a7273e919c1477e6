"""The checker of the chaos runs: it finds nothing in a correct run, and names each broken rule."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.checker import RULES, broken, check
from chaos.record import TERMINAL, Record
from chaos.rules.jobs import ALLOWED

from kairos.fsm.lifecycle import TERMINAL_STATUSES, stored_pairs


def test_the_copy_of_the_lifecycle_that_the_checker_has_is_the_lifecycle() -> None:
    moves = {(old, new) for old, allowed in ALLOWED.items() for new in allowed if new != old}
    assert moves == {(str(old), str(new)) for old, new in stored_pairs()}
    assert set(TERMINAL) == TERMINAL_STATUSES


def step(job: int, lease: int, n: int, at: float) -> list[dict[str, Any]]:
    """The events that a step writes to the journal."""
    shared = {"job": job, "lease": lease, "n": n, "step": "work", "pid": 1}
    return [
        {"e": "begin", "t": at, "wall": at, **shared},
        {"e": "end", "t": at + 1, "wall": at + 1, **shared},
    ]


def change(
    job: int, old: str | None, new: str, lease: tuple[int, int], n: tuple[int, int], at: float
) -> dict[str, Any]:
    """The row that the trigger writes for a change; its clock counts microseconds."""
    now = int(at * 1e6)
    shared = {"id": now, "tx": now, "job": job, "action": "walk", "key": "red", "now": now, "wall": at}
    times = {"expires": 100_000_000, "due": 0, "lease_until": now + 1000, "old_holder": "w"}
    numbers = {"old_lease": lease[0], "new_lease": lease[1], "old_n": n[0], "new_n": n[1]}
    return {"old": old, "new": new, **numbers, **shared, **times}


def row(number: int, action: str, output: Any, **more: Any) -> dict[str, Any]:
    shared = {"status": "done", "reply_to": None, "token": None, "awaits": None, "error_code": None}
    return {
        "id": number,
        "action": action,
        "output": output,
        **shared,
        "schedule": None,
        "max_reaps": 2,
        **more,
    }


def sound() -> Record:
    """A correct run: a walk of two steps by one claim, a signal, a family, a poison and a tick."""
    clients = [{"e": "ready", "worker": "w", "pid": 1}]
    clients += [{"e": "ask", "token": token, "t": at} for at, token in enumerate("abcd")]
    clients += [{"e": "ack", "job": at + 1, "token": token, "t": at + 0.5} for at, token in enumerate("abcd")]
    clients += [{"e": "sent", "job": 2, "number": 7, "answer": "woke"}]
    clients += [{"e": "received", "reader": "r", "cursor": cursor} for cursor in (1, 2, 3)]
    clients += [{"e": "schedule", "name": "s", "period": 1, "first": 1_000_000, "until": 2_500_000}]
    return Record(
        journal=[*clients, *step(1, 1, 0, 10), *step(1, 2, 1, 12)],
        jobs=[
            row(1, "walk", 1, token="a"),
            row(2, "inbox", [7], token="b"),
            row(3, "family", [0], token="c"),
            row(4, "child", 0, reply_to=3),
            row(5, "poison", None, token="d", status="failed", error_code="WORKER_LOST"),
            row(6, "tick", None, schedule="s", tick=1_000_000),
        ],
        audit=[
            change(1, "runnable", "executing", (0, 1), (0, 0), 9),
            change(1, "executing", "executing", (1, 2), (0, 1), 11.5),
            change(1, "executing", "done", (2, 2), (1, 1), 13.5),
        ],
        effects=[{"job": 1, "n": 1}],
        signals=[{"job": 2, "name": "message", "consumed": True}],
        ticks=[
            {"schedule": "s", "tick": 1_000_000, "job": 6},
            {"schedule": "s", "tick": 2_000_000, "job": None},
        ],
        logs=[{"job": 1, "n": 0, "lease": 1}],
        history=[{"id": number, "job": 1, "verb": "next", "tx": number} for number in (1, 2, 3)],
        ledger={"accepted": 6, "gone": 0, "present": 6},
        server={"deadlocks": 0, "advisory": 0, "idle": 0},
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


def commit_for_another_holder(run: Record) -> None:
    run.audit[2]["old_holder"] = "v"
    run.journal.append({"e": "ready", "worker": "v", "pid": 2})


def commit_again(run: Record) -> None:
    run.audit.insert(1, change(1, "executing", "executing", (1, 1), (0, 1), 11.4))


def overlap(run: Record) -> None:
    run.journal += step(5, 1, 0, 10.5)
    run.audit += [change(5, "executing", "done", (1, 1), (0, 0), 20)]


def claim_a_held_key(run: Record) -> None:
    run.audit.insert(1, change(5, "runnable", "executing", (0, 1), (0, 0), 10))


def lose_a_signal(run: Record) -> None:
    run.jobs[1]["output"] = []


def double_a_signal(run: Record) -> None:
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


def fail_without_poison(run: Record) -> None:
    run.jobs[0].update(status="failed", error_code="STEP_FAILED")


def outlive_poison(run: Record) -> None:
    run.jobs[4].update(status="done", error_code=None)


def never_drain(run: Record) -> None:
    run.drained = False


def jump_the_line(run: Record) -> None:
    for number, begun in ((7, 30), (8, 29)):
        run.journal += [
            {"e": "ask", "token": f"k{number}", "t": number},
            {"e": "ack", "job": number, "token": f"k{number}", "t": number + 0.5, "key": "blue"},
        ]
        run.jobs.append(row(number, "other", None, token=f"k{number}"))
        run.audit.append({**change(number, "runnable", "executing", (0, 1), (0, 0), begun), "key": "blue"})


def leave_a_signal(run: Record) -> None:
    run.jobs[1].update(status="awaiting_signal", awaits=["message"])
    run.signals[0]["consumed"] = False


def fire_twice(run: Record) -> None:
    run.jobs.append({**run.jobs[5], "id": 9})


def skip_a_tick(run: Record) -> None:
    del run.ticks[1]


def lose_the_job_of_a_tick(run: Record) -> None:
    del run.jobs[5]


def reap_the_living(run: Record) -> None:
    run.audit.append(change(1, "executing", "runnable", (2, 2), (1, 1), 14))
    run.history.append({"id": 4, "job": 1, "verb": "reap", "tx": 14_000_000})


def claim_early(run: Record) -> None:
    run.audit[0]["due"] = 9_000_001


def die_too_often(run: Record) -> None:
    run.journal += [
        {"e": "begin", "job": 5, "lease": lease, "pid": 1, "t": 1, "wall": 1} for lease in range(4)
    ]


def miss_an_event(run: Record) -> None:
    run.journal = [event for event in run.journal if event.get("cursor") != 2]


def receive_twice(run: Record) -> None:
    run.journal.append({"e": "received", "reader": "r", "cursor": 3})


def receive_what_was_rolled_back(run: Record) -> None:
    run.journal.append({"e": "received", "reader": "r", "cursor": 4})


def lose_a_line(run: Record) -> None:
    run.logs = [{"job": 9, "n": 0, "lease": 1}]


def double_a_line(run: Record) -> None:
    run.logs *= 2


def delete_by_hand(run: Record) -> None:
    run.ledger["present"] = 5


def deadlock(run: Record) -> None:
    run.server["deadlocks"] = 1


def leave_a_lock(run: Record) -> None:
    run.server["advisory"] = 1


def break_a_loop(run: Record) -> None:
    run.log = "… a worker loop died …"


FAULTS = {
    "accepted_jobs_end": (lose_a_job, leave_a_job),
    "a_job_ends_once": (end_twice,),
    "only_poison_fails": (fail_without_poison, outlive_poison),
    "every_job_was_requested": (make_one_up, accept_twice),
    "only_allowed_changes": (leave_an_end,),
    "steps_are_committed_once_and_in_order": (
        commit_early,
        commit_for_another,
        commit_for_another_holder,
        commit_again,
    ),
    "effects_come_with_their_commit": (lose_an_effect, double_an_effect),
    "a_key_runs_one_step_at_a_time": (overlap,),
    "a_key_has_one_holder": (claim_a_held_key,),
    "a_key_runs_in_order": (jump_the_line,),
    "signals_arrive_once": (lose_a_signal, double_a_signal),
    "no_job_waits_for_a_delivered_signal": (leave_a_signal,),
    "parents_get_every_reply_once": (double_a_child,),
    "each_tick_makes_one_job": (fire_twice, skip_a_tick, lose_the_job_of_a_tick),
    "leases_only_rise": (lower_a_lease,),
    "only_lost_jobs_are_reaped": (reap_the_living,),
    "the_run_drains": (never_drain,),
    "ttl_is_exact": (expire_early, claim_late),
    "nothing_starts_before_it_is_due": (claim_early,),
    "attempts_are_bounded": (die_too_often,),
    "cancelled_jobs_are_not_claimed": (claim_the_cancelled,),
    "streams_are_complete": (miss_an_event, receive_twice, receive_what_was_rolled_back),
    "log_lines_are_kept_once": (lose_a_line, double_a_line),
    "the_ledger_balances": (delete_by_hand,),
    "no_deadlock_and_no_lock_is_left": (deadlock, leave_a_lock),
    "no_loop_died": (break_a_loop,),
}


def test_every_rule_has_a_run_that_breaks_it():
    assert set(FAULTS) == {rule.__name__ for rules in RULES.values() for rule in rules}
    assert list(RULES) == [f"C{number}" for number in range(1, 17)]


@pytest.mark.parametrize(("rule", "fault"), [(rule, fault) for rule in FAULTS for fault in FAULTS[rule]])
def test_a_broken_promise_is_named(rule, fault):
    run = sound()
    fault(run)
    assert rule in broken(run)
