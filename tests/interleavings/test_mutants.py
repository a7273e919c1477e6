"""The explorer is believed because it finds what is broken: each guard taken out of a statement is missed at once."""

from __future__ import annotations

import pytest
from tests.engine_statements import done, park
from tests.interleavings import test_keys, test_leases, test_locks, test_signals, test_unique
from tests.interleavings.stepping import COMMIT
from tests.interleavings.test_locks import large_table

from kairos.worker import flusher

__all__ = ["large_table"]

REPLIES = "order by r.reply_to limit 1) is not null"
CANCELS = "exists (select from kairos.schedules s where s.overlap = 'cancel')"
PARENTS = "where due.reply_to is null or due.reply_to in"
SIGNAL = (test_signals.test_no_order_of_a_park_and_a_signal_loses_the_wake_up, COMMIT, COMMIT)
ZOMBIE = test_leases.test_a_reaped_job_that_was_picked_again_is_never_written_by_its_first_run
FREED = (test_keys.test_a_job_put_on_hold_while_its_key_is_freed_is_let_in_again, COMMIT, done)
FAMILY = test_locks.test_children_that_end_and_parents_that_settle_do_not_deadlock
SWEEPERS = test_locks.test_children_ended_by_two_sweepers_do_not_deadlock
CANCEL = test_leases.test_a_cancel_and_an_outcome_end_the_job_once
MUTANTS = {
    "a park that does not look again": ("recheck_inbox", "g.status = 'awaiting_signal'", "false", *SIGNAL),
    "a commit without its lease": ("finish_jobs", "g.lease = o.lease and coalesce", "coalesce", ZOMBIE, "w1"),
    "a key that nobody locks": ("try_lock_keys", "pg_try_advisory_xact_lock(kairos.key_lock(key))", "true",
                                test_keys.test_a_picker_with_an_old_view_of_the_line_does_not_get_the_key_too),
    "a key that nobody opens": ("open_keys", "set held = false", "set held = g.held", *FREED),
    "a key opened under a picker": ("wait_for_key_locks", "select pg_advisory_xact_lock(lock) from",
                                    "select lock from", *FREED),
    "a batch in any order of its keys": ("insert_jobs", "order by j.unique_key, j.id", "",
                                         test_unique.test_two_batches_that_share_keys_in_opposite_orders_do_not_deadlock),
    "outcomes in the order they came": (
        "finish_jobs", REPLIES, "order by r.reply_to limit 1) is null", FAMILY, done, 0
    ),
    "parks in the order they came": ("lock_jobs", "for no key update", "", FAMILY, lambda claim: park(claim, "no"), 1),
    "outcomes in any order under a ticker": ("finish_jobs", CANCELS, "false",
        test_locks.test_a_ticker_and_the_outcomes_of_the_jobs_it_cancels_do_not_deadlock, True),
    "an expiry that waits": (
        "expire_jobs", PARENTS, PARENTS.replace("where", "where true or"), SWEEPERS, "expire_jobs"
    ),
    "a reaper that waits": ("reap_jobs", PARENTS, PARENTS.replace("where", "where true or"), SWEEPERS, "reap_jobs"),
    "progress that waits": ("report_progress", "of g skip locked", "of g",
                            test_locks.test_progress_and_the_outcomes_of_the_same_steps_do_not_deadlock),
    "a cancel by what it saw": ("cancel_jobs", "case when g.status = 'executing' then 'executing'",
                                "case when t.status = 'executing' then 'executing'", CANCEL, "next"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
async def test_what_is_broken_is_found(jobs, orders, every_order, monkeypatch, name):
    monkeypatch.setattr(flusher, "by_id", list)  # what a statement itself sees to
    statement, whole, broken, suite, *params = MUTANTS[name]
    assert orders.sql[statement].count(whole) >= 1
    orders.sql[statement] = orders.sql[statement].replace(whole, broken)
    with pytest.raises(AssertionError) as found:
        await suite(jobs, every_order, *params)
    assert any(note.startswith("in the order: ") for note in found.value.__notes__)


async def test_outcomes_in_the_order_they_came_are_found_out_by_who_cancels_many(
    jobs, every_order, monkeypatch
):
    monkeypatch.setattr(flusher, "by_id", list)
    with pytest.raises(AssertionError):
        await test_locks.test_outcomes_and_a_cancel_of_the_same_jobs_do_not_deadlock(jobs, every_order)
