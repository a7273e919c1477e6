-- pause_schedule: pauses a schedule ($2 true, with a reason) or resumes it; ticks missed during the pause are recorded
-- when it resumes.
update kairos.schedules s set
  paused_at = case when $2::boolean then coalesce(s.paused_at, kairos.now()) end,
  pause_reason = case when $2::boolean then $3::text end,
  paused_until = case when not $2::boolean and s.paused_at is not null then kairos.now() else s.paused_until end,
  updated_at = kairos.now()
where s.name = $1::text
returning s.name
