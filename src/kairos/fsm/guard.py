"""Render the lifecycle as Postgres triggers, which `kairos migrate` applies when they differ from the database's."""

from __future__ import annotations

from kairos.fsm.lifecycle import STORED, TERMINAL_STATUSES, JobState, Status, stored_pairs


def guard_sql() -> str:
    """Return the SQL of the triggers that refuse a change of status outside the table.

    The text replaces the triggers that exist, and takes one lock on one table. The condition is in WHEN, so an allowed
    change never enters plpgsql. The triggers also refuse a change to an ended job, a lowered lease, an insert with any
    status but `runnable`, and the deletion of a job that has not ended.
    """
    allowed = ",\n    ".join(f"('{source}', '{target}')" for source, target in stored_pairs())
    first = STORED[JobState.PENDING]
    settled = _quoted(TERMINAL_STATUSES)
    return f"""\
-- Rendered from kairos/fsm/lifecycle.py.
create or replace function kairos.refuse_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.lease < old.lease then
    raise exception 'the lease of job % cannot go from % back to %: it is never lowered', new.id, old.lease, new.lease
      using errcode = 'KA409', table = 'gen_durable', schema = tg_table_schema;
  end if;
  raise exception 'job % cannot go from % to %: the lifecycle has no such transition',
    new.id, coalesce(old.status::text, 'nothing'), new.status
    using errcode = 'KA409', table = 'gen_durable', schema = tg_table_schema;
end $$;

create or replace function kairos.refuse_removal() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    raise exception 'jobs cannot be truncated: only those that have ended can be deleted'
      using errcode = 'KA409', table = 'gen_durable', schema = tg_table_schema;
  end if;
  raise exception 'job % cannot be deleted while it is %: cancel it first', old.id, old.status
    using errcode = 'KA409', table = 'gen_durable', schema = tg_table_schema;
end $$;

create or replace trigger gen_durable_guard after update on kairos.gen_durable
for each row when (
  (old.status is distinct from new.status and (old.status, new.status) not in (
    {allowed}
  ))
  or new.lease < old.lease
  or (old.status in ({settled}) and old is distinct from new)
) execute function kairos.refuse_transition();

create or replace trigger gen_durable_born before insert on kairos.gen_durable
for each row when (new.status <> '{first}')
execute function kairos.refuse_transition();

create or replace trigger gen_durable_kept before delete on kairos.gen_durable
for each row when (old.status not in ({settled}))
execute function kairos.refuse_removal();

create or replace trigger gen_durable_kept_whole before truncate on kairos.gen_durable
for each statement execute function kairos.refuse_removal();
"""


def _quoted(statuses: frozenset[Status]) -> str:
    return ", ".join(f"'{status}'" for status in Status if status in statuses)
