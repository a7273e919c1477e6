"""Jobs written by hand, in every status that a job can be stored in."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from kairos.fsm.lifecycle import TERMINAL_STATUSES, Status

BIRTH = """
insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)
values ('a', 's', now(), now(), now()) returning id
"""
# Whatever a status asks of its row by CHECK is given, so that only the guard decides.
MOVE = """
update kairos.gen_durable set
  status = %(status)s::kairos.durable_status,
  locked_by = case when %(runs)s then 'worker' end,
  lease_expires_at = case when %(runs)s then now() end,
  completed_at = case when %(ends)s then clock_timestamp() end,
  started_at = coalesce(started_at, now()), lease = greatest(lease, 1), awaits = '{x}', held = false
where id = %(id)s
"""
PATHS = {
    Status.RUNNABLE: (),
    Status.EXECUTING: (Status.EXECUTING,),
    Status.AWAITING_SIGNAL: (Status.EXECUTING, Status.AWAITING_SIGNAL),
    Status.DONE: (Status.EXECUTING, Status.DONE),
    Status.FAILED: (Status.EXECUTING, Status.FAILED),
    Status.CANCELLED: (Status.CANCELLED,),
    Status.EXPIRED: (Status.EXPIRED,),
}


def born(connection: psycopg.Connection[Any]) -> int:
    return one(connection, BIRTH)


def move(connection: psycopg.Connection[Any], job: int, status: Status) -> None:
    runs, ends = status is Status.EXECUTING, status in TERMINAL_STATUSES
    connection.execute(MOVE, {"id": job, "status": status, "runs": runs, "ends": ends})


def living(connection: psycopg.Connection[Any], status: Status) -> int:
    """A job that came to `status` by the way a job comes there."""
    job = born(connection)
    for stop in PATHS[status]:
        move(connection, job, stop)
    return job


def refused(connection: psycopg.Connection[Any], sql: str, *params: Any) -> psycopg.Error:
    """The error of a statement that must not go through; the transaction goes on without it."""
    with pytest.raises(psycopg.Error) as error, connection.transaction():
        connection.execute(sql, params)
    return error.value


def one(connection: psycopg.Connection[Any], sql: str, *params: Any) -> Any:
    row = connection.execute(sql, params).fetchone()
    assert row is not None
    return row[0]
