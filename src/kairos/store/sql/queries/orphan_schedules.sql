-- orphan_schedules: pauses, loudly, what app $1 used to declare and declares no more ($2 are the names it has now).
-- Guard: it is that app's, and runs one of the actions $3 (null: any). adopt_schedules lets it go on once it is
-- declared again.
update kairos.schedules s set paused_at = kairos.now(), pause_reason = 'no longer declared in code', updated_at = kairos.now()
where s.declared_by = $1::text and s.paused_at is null and s.name <> all (coalesce($2::text::text[], '{}'))
  and ($3::text is null or s.fsm = any ($3::text::text[]))
returning s.name
