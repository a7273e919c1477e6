-- find_unknown_actions: finds actions that no live worker knows, although a worker met a job of them or a schedule
-- enqueues them.
-- Parameters: $1 how long after its last heartbeat a worker counts as live, $2 how many actions are named.
with live as materialized (
  select w.* from kairos.workers w
  where w.seen_at > kairos.now() - $1::interval and w.stopping_at is null
), enqueued as (
  select name, 'worker ' || min(w.id) || ' was given one' as detail
  from live w cross join unnest(w.unknown) as name
  group by name
  union all
  -- No worker has met these yet, but one will when the schedule fires.
  select s.fsm || '@' || s.fsm_version, 'schedule ' || min(s.name) || ' enqueues it' from kairos.schedules s
  where s.paused_at is null and s.next_tick_at is not null and exists (select from live)
  group by s.fsm, s.fsm_version
)
select 'action_unknown' as kind, s.name as subject, 1::bigint as count, kairos.now() as since, min(s.detail) as detail
from enqueued s
where not exists (
  select from live w where s.name = any (w.machines)
    -- A worker of an older Kairos reports only the names.
    or (w.machines = '{}' and split_part(s.name, '@', 1) = any (w.actions)))
group by s.name
order by s.name
limit $2::int
