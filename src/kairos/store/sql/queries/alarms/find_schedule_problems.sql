-- find_schedule_problems: finds schedules that Kairos paused itself, and overdue ones whose stored plan is newer than
-- the workers that run.
-- Parameters: $1 the newest plan format that the caller reads.
select 'schedule_paused' as kind, s.name as subject, 1::bigint as count, s.paused_at as since, s.pause_reason as detail
from kairos.schedules s
where s.paused_at is not null
  and (s.pause_reason = 'no longer declared in code' or s.pause_reason like 'its sentence cannot be read:%')
union all
-- Newer workers fire it in time, if there are any.
select 'schedule_unreadable', s.name, 1, s.next_tick_at, s.plan ->> 'version' from kairos.schedules s
where s.paused_at is null and s.next_tick_at <= kairos.now() - interval '1 minute'
  and s.plan_generation = s.generation and (s.plan ->> 'version')::int > $1::int
