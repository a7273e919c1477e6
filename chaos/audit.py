"""Record every change of a job by a trigger, the audit trail, and read the rows that the checker needs.

Nothing here goes through Kairos. A row of the trail is written in the same transaction as the change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import asyncpg

from chaos.journal import Journal
from chaos.record import Record, Row

_MICROSECONDS = "(extract(epoch from {}) * 1000000)::bigint"

INSTALL = f"""
create table effects (job bigint not null, n int not null);
create table audit (
  id bigserial primary key, tx bigint, job bigint, action text, key text, old text, new text, old_lease bigint,
  new_lease bigint, old_holder text, old_n int, new_n int, now bigint, wall double precision, expires bigint,
  due bigint, lease_until bigint
);
create function audit_job() returns trigger language plpgsql as $$ begin
  insert into audit (tx, job, action, key, old, new, old_lease, new_lease, old_holder, old_n, new_n, now, wall, expires,
                     due, lease_until)
  values (
    txid_current() & 4294967295, new.id, new.fsm, new.partition_key, old.status, new.status, old.lease, new.lease,
    old.locked_by, (old.state->>'n')::int, (new.state->>'n')::int, {_MICROSECONDS.format("kairos.now()")},
    extract(epoch from clock_timestamp()), {_MICROSECONDS.format("new.expires_at")},
    {_MICROSECONDS.format("new.eligible_at")}, {_MICROSECONDS.format("old.lease_expires_at")});
  return null;
end $$;
create trigger audit_job after update on kairos.gen_durable for each row
  when (old.status <> new.status or old.lease <> new.lease) execute function audit_job();
create trigger audit_new_job after insert on kairos.gen_durable for each row execute function audit_job();
"""

# The nemesis kills the workers of the same slow steps more often than `max_reaps` allows, and the engine would fail
# those jobs with WORKER_LOST. So every job gets a limit that no run reaches, except `poison`, which keeps its own.
RAISE_MAX_REAPS = """
create function raise_max_reaps() returns trigger language plpgsql as $$ begin
  new.max_reaps := 1000;
  return new;
end $$;
create trigger raise_max_reaps before insert on kairos.gen_durable for each row
  when (new.fsm <> 'poison') execute function raise_max_reaps();
"""

_ROWS = {
    "jobs": f"""
      select id, fsm as action, status::text as status, result::text as output, reply_to, tags[1] as token, reaps,
        max_reaps, error_code, awaits, schedule, {_MICROSECONDS.format("tick_at")} as tick,
        case when completed_at is null then to_jsonb(g)::text end as row
      from kairos.gen_durable g order by id""",
    "audit": "select * from audit order by id",
    "effects": "select * from effects",
    "signals": "select target_id as job, name, consumed_at is not null as consumed from kairos.signals",
    "ticks": f"""
      select schedule, {_MICROSECONDS.format("tick_at")} as tick, job_id as job, reason from kairos.ticks""",
    "logs": """
      select job_id as job, lease, (fields->>'n')::int as n from kairos.logs where fields ? 'n'""",
    "history": "select id, job_id as job, verb, xmin::text::bigint as tx from kairos.history order by id",
}
_LEDGER = """
select sum(accepted) as accepted, sum(removed) as gone, (select count(*) from kairos.gen_durable) as present
from kairos.job_ledger
"""
_SERVER = """
select
  (select deadlocks from pg_stat_database where datname = current_database()) as deadlocks,
  (select count(*) from pg_locks where locktype = 'advisory'
     and database = (select oid from pg_database where datname = current_database())) as advisory,
  (select count(*) from pg_stat_activity where datname = current_database() and application_name like 'kairos%'
     and state like 'idle in transaction%') as idle
"""


async def install_effects(connection: asyncpg.Connection) -> None:
    """Install only the table that steps write to: the audit trail would grow under load."""
    await install(connection)
    await connection.execute("drop trigger audit_job on kairos.gen_durable")
    await connection.execute("drop trigger audit_new_job on kairos.gen_durable")


async def install(connection: asyncpg.Connection) -> None:
    await connection.execute(INSTALL + RAISE_MAX_REAPS)


async def read(connection: asyncpg.Connection, journal: Journal, **more: Any) -> Record:
    """Return the record of the run; call it after all workers and clients have stopped."""
    rows = {name: await _fetch(connection, sql) for name, sql in _ROWS.items()}
    for job in rows["jobs"]:
        job["output"] = None if job["output"] is None else json.loads(job["output"])
    (ledger,) = await _fetch(connection, _LEDGER)
    (server,) = await _fetch(connection, _SERVER)
    return Record(journal=journal.read(), ledger=ledger, server=server, **rows, **more)


async def _fetch(connection: asyncpg.Connection, sql: str) -> list[Row]:
    found: Sequence[Any] = await connection.fetch(sql)
    return [dict(row) for row in found]
