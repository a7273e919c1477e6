-- find_unknown_actions: finds actions that a worker was given, or that a schedule enqueues, and no live worker knows.
-- Parameters: $1 a worker counts as live for, $2 actions named at most.
with live as materialized (
  select w.* from kairos.workers w
  where w.seen_at > kairos.now() - $1::interval and w.stopping_at is null
), strangers as (
  select name, 'worker ' || min(w.id) || ' was given one' as detail
  from live w cross join unnest(w.unknown) as name
  group by name
  union all
  -- Not met yet, but sure to come.
  select s.fsm || '@' || s.fsm_version, 'schedule ' || min(s.name) || ' enqueues it' from kairos.schedules s
  where s.paused_at is null and s.next_tick_at is not null and exists (select from live)
  group by s.fsm, s.fsm_version
)
select 'action_unknown' as kind, s.name as subject, 1::bigint as count, kairos.now() as since, min(s.detail) as detail
from strangers s
where not exists (
  select from live w where s.name = any (w.machines)
    -- A worker of an older Kairos reports only the names.
    or (w.machines = '{}' and split_part(s.name, '@', 1) = any (w.actions)))
group by s.name
order by s.name
limit $2::int
