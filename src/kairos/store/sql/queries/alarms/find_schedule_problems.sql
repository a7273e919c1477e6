-- find_schedule_problems: finds schedules that Kairos itself paused, overdue schedules whose stored plan no running
-- worker is new enough to read, and schedules that are overdue although a worker runs.
-- Parameters: $1 the newest plan format that the caller reads, $2 overdue after, $3 how long after its last heartbeat a
-- worker counts as live, $4 how many overdue schedules are named.
-- Index: schedules_paused, schedules_due.
select 'schedule_paused' as kind, s.name as subject, 1::bigint as count, s.paused_at as since, s.pause_reason as detail
from kairos.schedules s
where s.paused_at is not null
  and (s.pause_reason = 'no longer declared in code' or s.pause_reason like 'its sentence cannot be read:%')
union all
-- Newer workers fire it in time, if there are any.
select 'schedule_unreadable', s.name, 1, s.next_tick_at, s.plan ->> 'version' from kairos.schedules s
where s.paused_at is null and s.next_tick_at <= kairos.now() - interval '1 minute'
  and s.plan_generation = s.generation and (s.plan ->> 'version')::int > $1::int
union all
-- After a downtime a schedule is not overdue before a worker had the time to fire it.
(select 'schedule_overdue', s.name, 1, s.next_tick_at, null from kairos.schedules s
where s.paused_at is null and s.next_tick_at <= kairos.now() - $2::interval
  and (s.plan is null or s.plan_generation <> s.generation or (s.plan ->> 'version')::int <= $1::int)
  and exists (
    select from kairos.workers w
    where w.seen_at > kairos.now() - $3::interval and w.stopping_at is null
      and w.started_at <= kairos.now() - $2::interval
  )
order by s.next_tick_at, s.name
limit $4::int)
