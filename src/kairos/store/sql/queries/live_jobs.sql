-- live_jobs: how many live jobs each queue has in each state, and its oldest due one; of each kind at most $1 are read.
-- Index: gen_durable_pick, gen_durable_held, gen_durable_lease, gen_durable_waiting, gen_durable_deadline.
select l.queue, l.state, count(*) as jobs, min(l.eligible_at) filter (where l.state = 'pending') as oldest_at
from (
  select r.queue, kairos.job_state('runnable', r.eligible_at, kairos.now()) as state, r.eligible_at
  from (
    (select g.queue, g.eligible_at from kairos.gen_durable g where g.status = 'runnable' and not g.held
     order by g.queue, g.priority, g.eligible_at limit $1::int)
    union all
    (select g.queue, g.eligible_at from kairos.gen_durable g where g.status = 'runnable' and g.held
     order by g.partition_key, g.priority, g.eligible_at limit $1::int)
  ) r
  union all
  (select g.queue, 'running', null from kairos.gen_durable g where g.status = 'executing'
   order by g.lease_expires_at limit $1::int)
  union all
  (select g.queue, 'waiting', null from kairos.gen_durable g
   where g.status = 'awaiting_signal' and g.await_until is null order by g.updated_at limit $1::int)
  union all
  (select g.queue, 'waiting', null from kairos.gen_durable g
   where g.status = 'awaiting_signal' and g.await_until is not null order by g.await_until limit $1::int)
) l
group by l.queue, l.state
order by l.queue, l.state
