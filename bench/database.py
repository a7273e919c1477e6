"""The benchmark's own Postgres: durable settings, one database for each kind of backlog."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench import floor
from bench.worker_actions import LINE, QUEUE
from kairos import SyncKairos
from kairos.embedded import Server

# fsync and synchronous_commit stay on. Checkpoints are forced between measurements instead of met by chance.
SETTINGS = {
    "shared_buffers": "512MB",
    "min_wal_size": "4GB",  # so that segments are used again rather than made anew in the middle of a drain
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
}

JOBS = """
insert into kairos.gen_durable
  (fsm, step, state, queue, priority, eligible_at, partition_key, held, inserted_at, updated_at,
   status, lease, started_at, completed_at, locked_by, lease_expires_at)
select %(fsm)s, %(step)s, jsonb_build_object('n', 0), %(queue)s, %(priority)s, now() + %(due)s::interval, %(key)s,
  %(key)s::text is not null and not %(holder)s, now(), now(),
  (case when %(holder)s then 'executing' when %(done)s then 'done' else 'runnable' end)::kairos.durable_status,
  case when %(done)s or %(holder)s then 1 else 0 end,
  case when %(done)s or %(holder)s then now() end, case when %(done)s then now() end,
  case when %(holder)s then 'elsewhere' end, case when %(holder)s then now() + interval '1 day' end
from generate_series(1, %(count)s)
"""
DEFAULTS = {
    "fsm": "noop",
    "step": "run",
    "queue": QUEUE,
    "priority": 0,
    "due": "0",
    "key": None,
    "done": False,
    "holder": False,
}
HISTORY = """
insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, started_at, at)
select id, 'done', 'running', 'success', step, 0, 'seed', started_at, completed_at
from kairos.gen_durable where status = 'done'
"""

# What each kind of backlog holds besides the jobs that are measured, at full size.
BACKLOGS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "future": [{"count": 500_000, "due": "30 days"}],
    "urgent future": [{"count": 500_000, "due": "30 days", "priority": -5}],
    "finished": [{"count": 200_000, "done": True}],
    "hot key": [
        {"count": 1, "key": "hot", "holder": True},
        {"count": 100_000, "key": "hot", "due": "-1 hour"},
    ],
}
BACKLOGS["all"] = [row for rows in list(BACKLOGS.values()) for row in rows]
# The jobs of this key are run one by one, in turn with the work that is measured: no job of it is executing.
BACKLOGS["moving key"] = [{"count": 100_000, "key": LINE, "due": "-1 hour"}]


@dataclass(frozen=True, slots=True)
class Written:
    """What the server has written: bytes of WAL, and transactions that changed something."""

    wal_bytes: int
    commits: int

    def __sub__(self, other: Written) -> Written:
        return Written(self.wal_bytes - other.wal_bytes, self.commits - other.commits)


def written(connection: psycopg.Connection) -> Written:
    """Read the position in the WAL and the next transaction id, which are exact; the server's statistics come late."""
    found = connection.execute(
        "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,"
        " pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    ).fetchone()
    assert found is not None
    return Written(*found)


class Databases:
    """A temporary server, with one database for each kind of backlog."""

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = scale
        self._server = Server(
            Path(tempfile.mkdtemp(prefix="kairos-bench-")), ephemeral=True, settings=SETTINGS
        )
        self._made: dict[str, Database] = {}

    def __enter__(self) -> Databases:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        for database in self._made.values():
            database.close()
        self._server.stop()

    @property
    def log(self) -> Path:
        return self._server.log

    @property
    def postmaster(self) -> int:
        return int((self._server.data / "postgres" / "postmaster.pid").read_text().split()[0])

    def get(self, backlog: str = "none") -> Database:
        """Return the database with this backlog, which is made on first use."""
        if backlog not in self._made:
            name = "bench_" + backlog.replace(" ", "_")
            with psycopg.connect(self._server.url(), autocommit=True) as connection:
                connection.execute(f"create database {name}")
            database = self._made[backlog] = Database(self._server.url(name))
            for rows in BACKLOGS[backlog]:
                count = rows["count"] if rows["count"] == 1 else int(rows["count"] * self._scale)
                database.add(**{**rows, "count": count})
            database.run(HISTORY)
            database.settle()
        return self._made[backlog]

    def empty(self, peer: str) -> str:
        """Create a database without a schema for a peer; return its URL."""
        name = f"peer_{peer}"
        with psycopg.connect(self._server.url(), autocommit=True) as connection:
            connection.execute(f"drop database if exists {name} with (force)")
            connection.execute(f"create database {name}")
        return self._server.url(name)


class Database:
    """One database, and a connection to it."""

    def __init__(self, url: str) -> None:
        self.url = url
        SyncKairos(url).migrate()
        self._connection = psycopg.connect(url, autocommit=True)
        self.run(floor.SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def run(self, sql: str, params: Any = None) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(sql, params)
        return cursor.fetchall() if cursor.description else []

    def value(self, sql: str, params: Any = None) -> Any:
        return self.run(sql, params)[0][0]

    def add(self, **rows: Any) -> int:
        """Add jobs; return the highest id before them."""
        last = self.last()
        with self._without_guard():
            self.run(JOBS, {**DEFAULTS, **rows})
        return last

    def written(self) -> Written:
        return written(self._connection)

    def last(self) -> int:
        last: int = self.value("select coalesce(max(id), 0) from kairos.gen_durable")
        return last

    def settle(self) -> None:
        """Vacuum and write a checkpoint, so that the next measurement does not bear their cost."""
        self.run("vacuum (analyze) kairos.gen_durable")
        self.run("vacuum (analyze) kairos.history")
        self.run("checkpoint")

    def clear(self) -> None:
        """Remove every job; for the database without a backlog."""
        with self._without_guard():
            self.run("truncate kairos.gen_durable, kairos.history, kairos.signals")
        self.run(floor.CLEAR)

    def remove(self, last: int) -> None:
        """Remove the jobs after `last`, none of which has run."""
        with self._without_guard():
            self.run("delete from kairos.gen_durable where id > %s", (last,))

    @contextmanager
    def _without_guard(self) -> Iterator[None]:
        """Disable the guard, which refuses the jobs of a backlog: inserted as ended, or deleted before their end."""
        self.run("set session_replication_role = replica")
        yield
        self.run("reset session_replication_role")

    def hint(self) -> None:
        self.run("select pg_notify('kairos', %s)", (QUEUE,))

    def pause(self) -> None:
        self.run(
            "insert into kairos.queues (name, paused_at) values (%s, now())"
            " on conflict (name) do update set paused_at = now()",
            (QUEUE,),
        )

    def resume(self) -> Any:
        """Resume the queue and notify the workers; return when, by the database's clock."""
        self.run("delete from kairos.queues where name = %s", (QUEUE,))
        self.hint()
        return self.value("select clock_timestamp()")
