"""The guard: no change outside the table can be committed, whoever writes it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.store.stored_jobs import BIRTH, born, living, move, one, refused

from kairos.fsm.lifecycle import TERMINAL_STATUSES, Status, stored_pairs

Connection = psycopg.Connection[Any]
REFUSED = "KA409"


@pytest.mark.parametrize("source", Status)
def test_every_pair_of_statuses_is_allowed_or_refused_as_the_table_says(
    connection: Connection, source: Status
) -> None:
    found = set()
    for target in Status:
        job = living(connection, source)
        try:
            with connection.transaction():
                move(connection, job, target)
        except psycopg.Error as error:
            assert error.sqlstate == REFUSED, f"{source} -> {target}: {error}"
            assert f"job {job} cannot go from {source} to {target}" in str(error)
            assert one(connection, "select status from kairos.gen_durable where id = %s", job) == source
        else:
            found.add((source, target))
    stays = set() if source in TERMINAL_STATUSES else {(source, source)}
    assert found == stays | {pair for pair in stored_pairs() if pair[0] == source}


@pytest.mark.parametrize("status", [status for status in Status if status in TERMINAL_STATUSES])
def test_a_settled_row_never_changes_again(connection: Connection, status: Status) -> None:
    job = living(connection, status)
    columns = connection.execute(
        """select column_name, data_type from information_schema.columns
           where table_schema = 'kairos' and table_name = 'gen_durable' and is_generated = 'NEVER'
             and column_name <> 'id'"""
    ).fetchall()
    other = {
        "text": "'other'",
        "integer": "77",
        "bigint": "77",
        "smallint": "77",
        "boolean": "not {0}",
        "interval": "interval '1 h'",
        "jsonb": """'{{"other": 1}}'""",
        "timestamp with time zone": "'2001-01-01Z'",
        "ARRAY": "null",
        "bytea": "'other'",
    }
    for name, kind in columns:
        if kind == "USER-DEFINED":
            continue  # the status itself: every pair is tried above
        listed = {
            "unique_scope": "'{done}'",
            "tags": "'{other}'",
            "redact": "'{other}'",
            "search": "'{other}'",
        }
        value = listed.get(name, other[kind].format(name))
        error = refused(connection, f"update kairos.gen_durable set {name} = {value} where id = %s", job)
        # A CHECK may speak before the guard does: what matters is that the row stands.
        assert error.sqlstate in (REFUSED, "23514"), f"{name}: {error}"
    assert connection.execute("update kairos.gen_durable set step = step where id = %s", [job]).rowcount == 1


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.RUNNABLE])
def test_a_job_is_born_only_as_one_that_waits_for_a_worker(connection: Connection, status: Status) -> None:
    sql = BIRTH.replace("(fsm,", "(status, fsm,").replace("('a',", f"('{status}', 'a',")
    error = refused(connection, sql)
    assert error.sqlstate == REFUSED
    assert f"from nothing to {status}" in str(error)


def test_a_change_of_many_rows_is_refused_whole_when_one_of_them_is_wrong(connection: Connection) -> None:
    good, bad = born(connection), living(connection, Status.EXPIRED)
    sql = "update kairos.gen_durable set status = 'cancelled', completed_at = now() where id = any (%s)"
    assert refused(connection, sql, [good, bad]).sqlstate == REFUSED
    assert one(connection, "select status from kairos.gen_durable where id = %s", good) == "runnable"


def test_a_settled_row_can_be_deleted_by_retention_but_not_taken_back(connection: Connection) -> None:
    job = living(connection, Status.DONE)
    back = "update kairos.gen_durable set status = 'runnable', completed_at = null where id = %s"
    assert refused(connection, back, job).sqlstate == REFUSED
    assert connection.execute("delete from kairos.gen_durable where id = %s", [job]).rowcount == 1


def test_a_lease_is_never_lowered(connection: Connection) -> None:
    job = living(connection, Status.EXECUTING)
    connection.execute("update kairos.gen_durable set lease = 7 where id = %s", [job])
    error = refused(connection, "update kairos.gen_durable set lease = 6 where id = %s", job)
    assert error.sqlstate == REFUSED
    assert f"the lease of job {job} cannot go from 7 back to 6" in str(error)
    connection.execute("update kairos.gen_durable set lease = 7 where id = %s", [job])


@pytest.mark.parametrize("status", [status for status in Status if status not in TERMINAL_STATUSES])
def test_a_job_that_has_not_ended_cannot_be_deleted(connection: Connection, status: Status) -> None:
    job = living(connection, status)
    error = refused(connection, "delete from kairos.gen_durable where id = %s", job)
    assert error.sqlstate == REFUSED
    assert f"job {job} cannot be deleted while it is {status}" in str(error)


def test_history_is_append_only(connection: Connection) -> None:
    connection.execute(
        """insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, at)
           values (1, 'done', 'running', 'success', 's', 0, now())"""
    )
    for where in ("", " where false"):
        error = refused(connection, "update kairos.history set verb = 'stop'" + where)
        assert error.sqlstate == "KA403"
        assert "append-only" in str(error)
    assert one(connection, "select verb from kairos.history") == "done"
