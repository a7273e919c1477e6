-- find_worker_problems: finds live workers whose clock is off, that receive no notifications, or whose commits are
-- blocked.
-- Parameters: $1 how long after its last heartbeat a worker counts as live, $2 the least clock skew, $3 how long
-- without notifications, $4 how long commits must have been blocked.
with live as materialized (
  select w.* from kairos.workers w
  where w.seen_at > kairos.now() - $1::interval and w.stopping_at is null
)
select 'clock_skewed' as kind, w.host as subject, count(*) as count, kairos.now() as since,
  max(abs(extract(epoch from w.clock_skew)))::text as detail
from live w
where abs(extract(epoch from w.clock_skew)) >= extract(epoch from $2::interval)
group by w.host
union all
select 'listener_deaf', w.id, 1, w.deaf_since, null from live w
where w.deaf_since <= kairos.now() - $3::interval
union all
select 'commits_blocked', w.id, 1, w.blocked_since, w.blocked_by from live w
where w.blocked_since <= kairos.now() - $4::interval
