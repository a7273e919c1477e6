"""Check the record of a run: return each violation of a rule as a sentence. It imports nothing of Kairos.

The rules are numbered C1 to C16, as in docs/operate/chaos.md. Each is a function in `rules/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from chaos.record import Record
from chaos.rules import deadlines, jobs, keys, messages, server, steps, streams

Rule = Callable[[Record], Iterator[str]]

RULES: dict[str, tuple[Rule, ...]] = {
    "C1": (jobs.accepted_jobs_end, jobs.a_job_ends_once, jobs.only_poison_fails),
    "C2": (jobs.every_job_was_requested,),
    "C3": (jobs.only_allowed_changes,),
    "C4": (steps.steps_are_committed_once_and_in_order, steps.effects_come_with_their_commit),
    "C5": (keys.a_key_runs_one_step_at_a_time, keys.a_key_has_one_holder, keys.a_key_runs_in_order),
    "C6": (
        messages.signals_arrive_once,
        messages.no_job_waits_for_a_delivered_signal,
        messages.parents_get_every_reply_once,
    ),
    "C7": (messages.each_tick_makes_one_job,),
    "C8": (steps.leases_only_rise, steps.only_lost_jobs_are_reaped),
    "C9": (jobs.the_run_drains,),
    "C10": (deadlines.ttl_is_exact, deadlines.nothing_starts_before_it_is_due),
    "C11": (steps.attempts_are_bounded,),
    "C12": (deadlines.cancelled_jobs_are_not_claimed,),
    "C13": (streams.streams_are_complete, streams.log_lines_are_kept_once),
    "C14": (jobs.the_ledger_balances,),
    "C15": (server.no_deadlock_and_no_lock_is_left,),
    "C16": (server.no_loop_died,),
}  # fmt: skip


# The rules that can be checked although retention removes ended jobs.
UNDER_LOAD = ("C9", "C14", "C15", "C16")


def check(record: Record, numbers: Iterable[str] = tuple(RULES)) -> list[str]:
    """Return every violation, as `rule: sentence`."""
    return [
        f"{rule.__name__}: {sentence}"
        for number in numbers
        for rule in RULES[number]
        for sentence in rule(record)
    ]


def broken(record: Record) -> set[str]:
    """Return the names of the rules that were broken."""
    return {sentence.partition(":")[0] for sentence in check(record)}
