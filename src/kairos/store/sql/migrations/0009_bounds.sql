-- Bounds: what was read or kept without one. Lists of the audit log by their own indexes, its retention, long waits.

create index audit_actor on kairos.audit (actor, id);
create index audit_verb on kairos.audit (verb, id);
create index audit_actor_verb on kairos.audit (actor, verb, id);
create index audit_target on kairos.audit (target, id) where target is not null;

-- How long the audit log is kept. A function and not a row: nobody but its owner can replace it, whatever the role that
-- workers run as was granted. `kairos migrate` does, when the setting audit_retention is given.
create function kairos.audit_retention() returns interval language sql immutable parallel safe as $$
  select interval '400 days'
$$;

-- What workers call: it removes what is older than that, and nothing else.
create function kairos.retire_audit(portion int) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select kairos.forget_audit(kairos.audit_retention(), portion)
$$;

-- By action, so that each action's long waits are found however many another's there are.
-- The old one goes last: until then nobody is kept from reading.
create index gen_durable_waits on kairos.gen_durable (fsm, updated_at) include (queue)
  where status = 'awaiting_signal' and await_until is null;

-- Somebody has seen an alarm. One that the ledger does not balance is written off by that, in the same commit; the sums
-- are read once the alarm's row is ours, so that of two who come at once one writes off.
create function kairos.acknowledge(alarm bigint, actor text) returns setof kairos.alarms language plpgsql as $$
declare
  seen kairos.alarms;
begin
  update kairos.alarms a set
    acknowledged_by = case when a.acknowledged_at is null then actor else a.acknowledged_by end,
    acknowledged_at = coalesce(a.acknowledged_at, kairos.now())
  where a.id = alarm and a.cleared_at is null
  returning a.* into seen;
  if not found then
    return;
  end if;
  if seen.kind = 'ledger_unbalanced' then
    insert into kairos.job_ledger (accepted, removed, written_off)
    select greatest(-off.lost, 0), greatest(off.lost, 0), l.removed + greatest(off.lost, 0) - p.jobs - l.written_off
    from (
      select coalesce(sum(l.accepted), 0) as accepted, coalesce(sum(l.removed), 0) as removed,
        coalesce(sum(l.written_off), 0) as written_off
      from kairos.job_ledger l
    ) l
    cross join (select coalesce(sum(p.jobs), 0) as jobs from kairos.purged p) p
    cross join lateral (select l.accepted - l.removed - count(*) as lost from kairos.gen_durable g) off;
  end if;
  return next seen;
end $$;

drop index kairos.gen_durable_waiting;
