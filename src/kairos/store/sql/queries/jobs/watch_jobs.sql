-- watch_jobs: the state of each of the jobs $1, and its history after row $2 (null: only the last id). For one job, the
-- order of history ids is the order of commits. `updated_at` and `inbox` (the newest signal that no step has taken)
-- also change with what writes no history: an edit, a cancel request, a signal.
-- Index: gen_durable_pkey, history_pkey, logs_pkey, signals_inbox.
select g.id, kairos.now() as looked_at, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, g.completed_at is not null as ended,
  extract(epoch from case when g.status = 'executing' then g.picked_at else g.eligible_at end)::float8 as since,
  g.progress::text as progress, g.updated_at,
  (select max(s.id) from kairos.signals s where s.target_id = g.id and s.consumed_at is null) as inbox, coalesce(h.last, w.after, 0) as last, h.changes::text as changes,
  case when w.after is null then (select max(l.cursor) from kairos.logs l where l.job_id = g.id) end as cursor
from unnest($1::bigint[], $2::bigint[]) as w (id, after)
join kairos.gen_durable g on g.id = w.id
left join lateral (
  select max(c.id) as last,
    json_agg(json_build_array(c.from_state, c.to_state, extract(epoch from c.at), extract(epoch from c.started_at))
             order by c.id) filter (where w.after is not null) as changes
  from kairos.history c where c.job_id = g.id and c.id > coalesce(w.after, 0)
) h on true
