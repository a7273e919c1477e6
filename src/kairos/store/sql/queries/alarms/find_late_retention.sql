-- find_late_retention: finds out whether ended jobs are kept longer than the retention of the live workers.
-- Parameters: $1 how long after its last heartbeat a worker counts as live, $2 the tolerated delay.
-- Index: gen_durable_completed.
select 'retention_behind' as kind, 'jobs' as subject, 1::bigint as count, oldest.completed_at as since, null as detail
from (
  select min(w.retention) as kept from kairos.workers w where w.seen_at > kairos.now() - $1::interval
) live
cross join lateral (select min(g.completed_at) as completed_at from kairos.gen_durable g
                    where g.completed_at is not null) oldest
where oldest.completed_at <= kairos.now() - live.kept - $2::interval
