-- due_jobs_of_line: the due jobs of one action, version and priority, {line}, without those that have arguments which
-- $8 does not list for their machine, in the order in which they are picked.
    where g.queue = $1 and g.status = 'runnable' and not g.held
      and (g.fsm, g.fsm_version, g.priority) >= ({line}.fsm, {line}.version, {line}.priority)
      and (g.fsm, g.fsm_version, g.priority, g.eligible_at) <= ({line}.fsm, {line}.version, {line}.priority, kairos.now())
      and (g.expires_at is null or g.expires_at > kairos.now())
      and case when $8::text is null or jsonb_typeof(g.state) <> 'object' then true
        else coalesce(g.state - ($8::text::jsonb ->> (g.fsm || '@' || g.fsm_version))::text[] = '{}', true) end
    order by g.fsm, g.fsm_version, g.priority, g.eligible_at, g.id
