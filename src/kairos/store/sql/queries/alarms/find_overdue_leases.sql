-- find_overdue_leases: finds jobs whose lease expired long ago and that no worker reaped, although one runs.
-- Parameters: $1 overdue after, $2 how long after its last heartbeat a worker counts as live, $3 how many actions are
-- named.
-- Index: gen_durable_lease.
select 'leases_overdue' as kind, l.action as subject, count(*) as count, min(l.lease_expires_at) as since,
  'job ' || (array_agg(l.id order by l.lease_expires_at))[1] as detail
from (
  select g.id, g.fsm as action, g.lease_expires_at from kairos.gen_durable g
  where g.status = 'executing' and g.lease_expires_at <= kairos.now() - $1::interval
  order by g.lease_expires_at limit 1000
) l
-- After a downtime they are not overdue before a worker had the time to reap them.
where exists (
  select from kairos.workers w
  where w.seen_at > kairos.now() - $2::interval and w.stopping_at is null
    and w.started_at <= kairos.now() - $1::interval
)
group by l.action
order by min(l.lease_expires_at), l.action
limit $3::int
