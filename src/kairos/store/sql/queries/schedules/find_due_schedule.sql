-- find_due_schedule: whether a schedule is due that lock_due_schedules would return if no other session had it locked.
-- Parameters: $1 the newest plan format that the caller reads, $2 names to skip.
-- Index: schedules_due.
select exists (
  select from kairos.schedules s
  where s.paused_at is null and s.next_tick_at is not null and s.next_tick_at <= kairos.now()
    and s.name <> all ($2::text[])
    and (s.plan is null or s.plan_generation <> s.generation or (s.plan ->> 'version')::int <= $1::int)
) as due
