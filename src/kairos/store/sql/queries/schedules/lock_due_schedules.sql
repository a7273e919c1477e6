-- lock_due_schedules: locks the schedules whose next tick is due, for this transaction, and returns them with their
-- live jobs. $2 is the newest plan format that the caller reads: a schedule with a newer one is left to newer workers.
-- $3 are names to skip.
-- `orphaned`: code declared the schedule, no live worker declares it any more, and a live worker that started later
-- does not: one of the same named app that declares others, or of a newer version of the program that declared it. A
-- worker without a row in kairos.declarations runs an older release and is assumed to declare it.
-- Guard: next_tick_at <= now; schedules locked by another ticker are skipped.
-- Index: schedules_due.
select s.name, s.generation, s.sentence, s.tz, s.overlap, s.catch_up, s.catch_up_within, s.jitter,
  s.starts_at, s.ends_at, s.ticks_left, s.cursor_at, s.paused_until, kairos.now() as now,
  case when s.plan_generation = s.generation then s.plan::text end as plan,
  case when s.overlap in ('skip', 'cancel') then array(
    select g.id from kairos.gen_durable g
    where g.schedule = s.name and g.completed_at is null order by g.id
  ) end as live,
  s.declared_at is not null
    and not exists (
      select from kairos.workers w left join kairos.declarations d on d.worker = w.id
      where w.seen_at > kairos.now() - interval '1 minute' and (d.worker is null or s.name = any (d.schedules))
    )
    and exists (
      select from kairos.workers w join kairos.declarations d on d.worker = w.id
      where w.seen_at > kairos.now() - interval '1 minute' and d.declared_at > s.declared_at
        and d.app is not distinct from s.declared_by
        and ((d.app is not null and cardinality(d.schedules) > 0) or
          {declared_by_same_program: actions=w.actions}
        )
    ) as orphaned
from kairos.schedules s
where s.paused_at is null and s.next_tick_at is not null and s.next_tick_at <= kairos.now()
  and s.name <> all ($3::text[])
  and (s.plan is null or s.plan_generation <> s.generation or (s.plan ->> 'version')::int <= $2::int)
order by s.next_tick_at, s.name
limit $1::int
for no key update of s skip locked
