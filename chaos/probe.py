"""A process that finds out when Postgres took no writes: it makes a small one again and again, as workers do.

It uses the same network as the workers, so its result says which recoveries had to wait for Postgres.
"""

from __future__ import annotations

import time
from pathlib import Path

import psycopg

from chaos.journal import Journal

# Seconds between two writes; after which a write counts as failed; and without one after which Postgres counts as
# unavailable.
_EVERY, _ANSWER_WITHIN, _UNAVAILABLE_AFTER = 0.05, 1.0, 0.25

INSTALL = "create table probe (at timestamptz not null default now()); insert into probe default values"
# The lock conflicts with that of a table lock of another session, as a worker's commit does.
_WRITE = "lock table kairos.gen_durable in row exclusive mode; update probe set at = clock_timestamp()"


def probe(url: str, folder: Path) -> None:
    """Write until killed; journal each time span in which no write was answered."""
    journal = Journal(folder / "journal")
    connection: psycopg.Connection | None = None
    since: float | None = None
    while True:
        began = time.time()
        since = began if since is None else since
        try:
            if connection is None:
                connection = _connect(url)
            connection.execute(_WRITE)
        except psycopg.Error:
            if connection is not None:
                connection.close()
            connection = None
        else:
            if (now := time.time()) - since > _UNAVAILABLE_AFTER:
                journal.write("outage", began=since, until=now)
            since = None
        time.sleep(max(0.0, began + _EVERY - time.time()))


def _connect(url: str) -> psycopg.Connection:
    wait = f"{round(_ANSWER_WITHIN * 1000)}"
    return psycopg.connect(
        url,
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=2,
        target_session_attrs="read-write",
        tcp_user_timeout=round(_ANSWER_WITHIN * 1000),
        options=f"-c statement_timeout={wait} -c lock_timeout={wait}",
        application_name="probe",
    )
