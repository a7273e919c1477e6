"""Wrong rows are uncommittable: each CHECK and unique index, tried by hand."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.errors import CheckViolation, ForeignKeyViolation, UniqueViolation
from tests.store.stored_jobs import BIRTH, PATHS, born, living, move, one

from kairos.fsm.lifecycle import TERMINAL_STATUSES, Status

Connection = psycopg.Connection[Any]


@pytest.mark.parametrize(
    ("status", "change", "constraint"),
    [
        ("runnable", "completed_at = now()", "completed_iff_terminal"),
        ("executing", "completed_at = now()", "completed_iff_terminal"),
        ("awaiting_signal", "completed_at = now()", "completed_iff_terminal"),
        ("executing", "status = 'done', locked_by = null, lease_expires_at = null", "completed_iff_terminal"),
        (
            "executing",
            "status = 'failed', locked_by = null, lease_expires_at = null",
            "completed_iff_terminal",
        ),
        ("runnable", "status = 'cancelled'", "completed_iff_terminal"),
        ("runnable", "status = 'expired'", "completed_iff_terminal"),
        ("runnable", "started_at = now()", "started_iff_leased"),
        ("runnable", "lease = 1", "started_iff_leased"),
        ("executing", "started_at = null", "never_ran_yet"),
        ("executing", "lease = 0", "started_iff_leased"),
        ("executing", "locked_by = null", "leased_iff_executing"),
        ("executing", "lease_expires_at = null", "leased_iff_executing"),
        ("executing", "status = 'runnable'", "leased_iff_executing"),
        ("runnable", "locked_by = 'w'", "leased_iff_executing"),
        ("runnable", "lease_expires_at = now()", "leased_iff_executing"),
        (
            "runnable",
            "status = 'executing', locked_by = 'w', lease_expires_at = now()",
            "never_ran_yet",
        ),
        (
            "executing",
            "status = 'awaiting_signal', locked_by = null, lease_expires_at = null, awaits = null",
            "awaits_something",
        ),
        ("awaiting_signal", "awaits = '{}'", "awaits_something"),
        ("awaiting_signal", "awaits = null", "awaits_something"),
        ("runnable", "held = true", "held_has_key"),
        ("executing", "held = true, partition_key = 'k'", "held_has_key"),
        ("runnable", "reply_to = 1", "reply_has_name"),
        ("runnable", "reply_name = 'n'", "reply_has_name"),
        ("runnable", "unique_key = 'u', unique_scope = '{executing}'", "unique_scope_is_whole"),
        ("runnable", "unique_key = 'u', unique_scope = '{runnable,executing}'", "unique_scope_is_whole"),
        ("runnable", "unique_key = 'u', unique_scope = '{}'", "unique_scope_is_whole"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(
    connection: Connection, status: str, change: str, constraint: str
) -> None:
    job = living(connection, Status(status))
    with pytest.raises(CheckViolation) as error, connection.transaction():
        connection.execute(f"update kairos.gen_durable set {change} where id = %s", [job])
    assert error.value.diag.constraint_name == constraint


@pytest.mark.parametrize("status", Status)
def test_completed_is_set_iff_terminal_and_started_iff_it_ever_ran(
    connection: Connection, status: Status
) -> None:
    job = living(connection, status)
    completed, started, lease = connection.execute(
        "select completed_at is not null, started_at is not null, lease from kairos.gen_durable where id = %s",
        [job],
    ).fetchone() or (None, None, None)
    assert completed == (status in TERMINAL_STATUSES)
    assert started == (lease > 0)


def test_a_second_holder_of_a_place_of_a_key_cannot_be_committed(connection: Connection) -> None:
    first, second = born(connection), born(connection)
    connection.execute("update kairos.gen_durable set partition_key = 'k'")
    move(connection, first, Status.EXECUTING)
    with pytest.raises(UniqueViolation, match="gen_durable_key_holder"), connection.transaction():
        move(connection, second, Status.EXECUTING)
    connection.execute("update kairos.gen_durable set key_slot = 1 where id = %s", [second])
    move(connection, second, Status.EXECUTING)


@pytest.mark.parametrize(
    ("scope", "held"),
    [
        ("{runnable}", {"runnable"}),
        ("{runnable,executing,awaiting_signal}", {"runnable", "executing", "awaiting_signal"}),
        ("{runnable,executing,awaiting_signal,done}", {"runnable", "executing", "awaiting_signal", "done"}),
    ],
)
def test_a_unique_key_is_held_in_exactly_the_statuses_of_its_scope(
    connection: Connection, scope: str, held: set[str]
) -> None:
    for status in Status:
        job = born(connection)
        connection.execute(
            "update kairos.gen_durable set unique_key = %s, unique_scope = %s where id = %s",
            [status.encode(), scope, job],
        )
        for stop in PATHS[status]:
            move(connection, job, stop)
        guard = one(connection, "select unique_guard from kairos.gen_durable where id = %s", job)
        assert (guard is not None) == (status in held), status


def test_a_taken_unique_key_cannot_be_taken_again(connection: Connection) -> None:
    first, second = born(connection), born(connection)
    take = "update kairos.gen_durable set unique_key = 'u', unique_scope = '{runnable}' where id = %s"
    connection.execute(take, [first])
    with pytest.raises(UniqueViolation, match="gen_durable_unique"), connection.transaction():
        connection.execute(take, [second])
    move(connection, first, Status.CANCELLED)
    connection.execute(take, [second])


def test_a_signal_belongs_to_a_job_and_goes_with_it(connection: Connection) -> None:
    send = "insert into kairos.signals (target_id, name, dedup_key, inserted_at) values (%s, 'n', %s, now())"
    with pytest.raises(ForeignKeyViolation), connection.transaction():
        connection.execute(send, [77, None])
    job = born(connection)
    connection.execute(send, [job, "once"])
    with pytest.raises(UniqueViolation), connection.transaction():
        connection.execute(send, [job, "once"])
    move(connection, job, Status.CANCELLED)
    connection.execute("delete from kairos.gen_durable")
    assert one(connection, "select count(*) from kairos.signals") == 0


@pytest.mark.parametrize(
    "settings",
    [
        "concurrency = 0",
        "rate_limit = 0, rate_period = '1s'",
        "rate_limit = 1, rate_period = '0s'",
        "rate_limit = 1",
        "rate_period = '1s'",
        "key_concurrency = 0",
        "key_rate_limit = 1",
        "key_rate_limit = 0, key_rate_period = '1s'",
    ],
)
def test_a_queue_with_impossible_limits_is_refused(connection: Connection, settings: str) -> None:
    connection.execute("insert into kairos.queues (name) values ('q')")
    with pytest.raises(CheckViolation), connection.transaction():
        connection.execute(f"update kairos.queues set {settings}")


def test_an_id_is_given_by_the_database(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.GeneratedAlways), connection.transaction():
        connection.execute(BIRTH.replace("(fsm,", "(id, fsm,").replace("('a',", "(5, 'a',"))
