-- adopt_schedules: what code declares ($2) is app $1's, and goes on if it was paused for not being declared.
-- Guard: a pause with another reason stays. What fell into the pause is recorded as skipped.
update kairos.schedules s set
  declared_by = $1::text,
  paused_at = case when s.pause_reason = 'no longer declared in code' then null else s.paused_at end,
  pause_reason = nullif(s.pause_reason, 'no longer declared in code'),
  paused_until = case when s.pause_reason = 'no longer declared in code' then kairos.now() else s.paused_until end,
  updated_at = kairos.now()
where s.name = any ($2::text::text[])
  and (s.declared_by is distinct from $1::text or s.pause_reason = 'no longer declared in code')
returning s.name
