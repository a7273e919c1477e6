-- pause_undeclared_schedules: pauses the schedules that app $1 (null: one without a name) declared before and no longer
-- declares ($2 are the names it declares now). claim_declared_schedules resumes one that is declared again.
-- Guard: code declared it; a program with the actions $3 (null: the whole app) is a version of the one that declared
-- it; no live worker declares it, so that old code and new code run side by side during a deploy. A worker without a
-- row in kairos.declarations runs an older release and is assumed to declare it.
update kairos.schedules s set paused_at = kairos.now(), pause_reason = 'no longer declared in code', updated_at = kairos.now()
where s.declared_at is not null and s.declared_by is not distinct from $1::text and s.paused_at is null
  and s.name <> all (coalesce($2::text::text[], '{}'))
  and ($3::text is null or
    {declared_by_same_program: actions=$3::text::text[]}
  )
  and not exists (
    select from kairos.workers w left join kairos.declarations d on d.worker = w.id
    where w.seen_at > kairos.now() - interval '1 minute' and (d.worker is null or s.name = any (d.schedules))
  )
returning s.name
