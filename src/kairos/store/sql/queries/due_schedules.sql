-- due_schedules: the schedules whose next tick has come, locked for this transaction, with their live jobs.
-- Guard: next_tick_at <= now; another ticker's are skipped, not waited for. Index: schedules_due.
select s.name, s.generation, s.sentence, s.tz, s.overlap, s.catch_up, s.catch_up_within, s.jitter,
  s.starts_at, s.ends_at, s.ticks_left, s.cursor_at, s.paused_until, kairos.now() as now,
  case when s.overlap in ('skip', 'cancel') then array(
    select g.id from kairos.gen_durable g
    where g.schedule = s.name and g.completed_at is null order by g.id
  ) end as live
from kairos.schedules s
where s.paused_at is null and s.next_tick_at is not null and s.next_tick_at <= kairos.now()
order by s.next_tick_at, s.name
limit $1::int
for no key update of s skip locked
