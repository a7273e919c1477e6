-- find_long_runs: finds actions with a step that has run for longer than is normal.
-- Parameters: $1 the normal running time.
-- Index: gen_durable_lease.
select 'jobs_running_long' as kind, r.fsm as subject, count(*) as count, min(r.picked_at) as since,
  'job ' || (array_agg(r.id order by r.picked_at))[1] as detail
from (
  -- Every running job is read: there are no more of them than workers have lanes.
  select g.id, g.fsm, g.picked_at from kairos.gen_durable g
  where g.status = 'executing' and g.lease_expires_at is not null and g.picked_at <= kairos.now() - $1::interval
  order by g.lease_expires_at limit 1000
) r
group by r.fsm
