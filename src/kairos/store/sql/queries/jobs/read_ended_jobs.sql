-- read_ended_jobs: how the jobs $1 ended, newest first, and how long they ran and waited for a worker, over all their
-- runs, in milliseconds.
-- Index: gen_durable_pkey, history_pkey.
select g.id, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, g.completed_at, r.run_ms, r.wait_ms
from kairos.gen_durable g
cross join lateral (
  select round(sum(extract(epoch from h.at - h.started_at) * 1000), 3)::float8 as run_ms,
    round(sum(extract(epoch from h.started_at - h.due_at) * 1000), 3)::float8 as wait_ms
  from kairos.history h
  where h.job_id = g.id and h.verb <> 'release' and h.started_at is not null
) r
where g.id = any ($1::bigint[])
order by g.id desc
