"""Render the lifecycle as SQL, which `kairos migrate` applies if the database has another version of it."""

from __future__ import annotations

from kairos.fsm.lifecycle import STORED, TERMINAL_STATUSES, JobState, Status, stored_pairs


def guard_sql() -> str:
    """Return the SQL of `kairos.job_state()` and of the triggers that refuse other changes of status.

    It replaces the existing functions and triggers, and locks one table. The condition is in WHEN, so that an allowed
    change runs no plpgsql. The triggers also refuse a change to an ended job, a lowered lease, an insert with any
    status but `runnable`, and the deletion of a job that has not ended.

    Postgres parses the stored condition for each statement that changes a job, so it has few operators. It inlines the
    function only because every expression in it is immutable, which a cast of the enum to text is not; otherwise it
    would parse the body for each statement too.
    """
    first = STORED[JobState.PENDING]
    settled = _quoted(TERMINAL_STATUSES)
    return f"""\
-- Rendered from kairos/fsm/lifecycle.py.
create or replace function kairos.job_state(status kairos.durable_status, eligible_at timestamptz, at timestamptz)
returns text language sql immutable parallel safe as $$
  select case status
    {_states()}
  end
$$;

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
  case when old.status in ({settled}) then old is distinct from new
  else new.lease < old.lease or (
    old.status <> new.status and new.status <> all (case old.status
      {_targets()}
      else '{{}}'
    end))
  end
) execute function kairos.refuse_transition();

create or replace trigger gen_durable_born before insert on kairos.gen_durable
for each row when (new.status <> '{first}')
execute function kairos.refuse_transition();

create or replace trigger gen_durable_kept before delete on kairos.gen_durable
for each row when (old.status not in ({settled}))
execute function kairos.refuse_removal();

create or replace trigger gen_durable_kept_whole before truncate on kairos.gen_durable
for each statement execute function kairos.refuse_removal();
"""  # noqa: S608


def _states() -> str:
    """Return a WHEN for each stored status, with its `JobState`."""
    whens = {
        Status.RUNNABLE: f"case when eligible_at > at then '{JobState.SCHEDULED}' else '{JobState.PENDING}' end"
    }
    for state, status in STORED.items():
        whens.setdefault(status, f"'{state}'")
    return "\n    ".join(f"when '{status}' then {state}" for status, state in whens.items())


def _targets() -> str:
    """Return a WHEN for each status of a live job, with an array of the statuses it may change to."""
    targets: dict[Status, list[Status]] = {}
    for source, target in stored_pairs():
        targets.setdefault(source, []).append(target)
    return "\n      ".join(
        f"when '{source}' then '{{{','.join(found)}}}'::kairos.durable_status[]"
        for source, found in targets.items()
    )


def _quoted(statuses: frozenset[Status]) -> str:
    return ", ".join(f"'{status}'" for status in Status if status in statuses)
