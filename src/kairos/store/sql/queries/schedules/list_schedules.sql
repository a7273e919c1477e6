-- list_schedules: schedules by name, at most $2 after $1 (null: from the start, all).
-- Index: schedules_pkey.
select s.name, s.generation, s.intent, s.sentence, s.tz, s.fsm, s.fsm_version, s.state::text as state, s.queue,
  s.overlap, s.catch_up, s.catch_up_within, s.jitter, s.starts_at, s.ends_at, s.count, s.ticks_left, s.cursor_at,
  s.next_tick_at, s.paused_at, s.pause_reason, s.declared_by, m.redact,
  case when s.plan_generation = s.generation then s.plan::text end as plan, kairos.now() as now
from kairos.schedules s
left join kairos.machines m on m.name = s.fsm and m.version = s.fsm_version
where s.name > coalesce($1::text, '')
order by s.name
limit $2::int
