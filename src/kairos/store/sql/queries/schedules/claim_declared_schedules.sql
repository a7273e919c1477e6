-- claim_declared_schedules: records that the code of app $1 (null: one without a name) declares the schedules $2 and
-- has the actions $3, and resumes those that were paused because they were not declared. Ticks missed during the pause
-- are recorded as skipped.
-- Guard: a pause with another reason stays.
update kairos.schedules s set
  declared_by = $1::text,
  declared_at = kairos.now(),
  declared_with = coalesce($3::text::text[], '{}'),
  paused_at = case when s.pause_reason = 'no longer declared in code' then null else s.paused_at end,
  pause_reason = nullif(s.pause_reason, 'no longer declared in code'),
  paused_until = case when s.pause_reason = 'no longer declared in code' then kairos.now() else s.paused_until end,
  updated_at = case when s.declared_by is distinct from $1::text or s.pause_reason = 'no longer declared in code'
    then kairos.now() else s.updated_at end
where s.name = any ($2::text::text[])
returning s.name
