-- find_late_queues: finds queues whose due jobs wait too long: `jobs_overdue` where a live worker serves the queue,
-- `queue_unserved` where none does. Distinct queues and priorities are found by a skip scan, and jobs that are not due
-- are not read. At most a thousand jobs of a queue are counted; at that number the alarm says "or more". Queues that
-- have settings, jobs or a worker come before unknown ones, then those that wait longest; the queues past the first $4
-- are reported in one row of each kind, so that many queue names do not become as many alarms. Of the priorities of a
-- queue, the most urgent ones are looked at and the least urgent one, which starves first: $5 divided by the number of
-- queues, so that jobs which each have a priority of their own do not keep the check from ending.
-- Parameters: $1 overdue after, $2 unserved after, $3 how long after its last heartbeat a worker counts as live, $4 how
-- many queues are named, $5 how many priorities are looked at in all queues together.
-- Index: gen_durable_pick.
with recursive live as materialized (
  select distinct unnest(w.queues) as queue from kairos.workers w
  where w.seen_at > kairos.now() - $3::interval and w.stopping_at is null
), names (queue) as (
  (select g.queue from kairos.gen_durable g where g.status = 'runnable' and not g.held order by g.queue limit 1)
  union all
  select found.queue from names n
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where g.status = 'runnable' and not g.held and g.queue > n.queue order by g.queue limit 1
  ) found
), share as materialized (
  select greatest(1, $5::int / greatest(1, count(*))) as priorities from names
), lines (queue, priority, place) as (
  select n.queue, f.priority, 1 from names n
  cross join lateral (
    select g.priority from kairos.gen_durable g
    where g.status = 'runnable' and not g.held and g.queue = n.queue order by g.priority limit 1
  ) f
  union all
  select l.queue, n.priority, l.place + 1 from lines l
  cross join lateral (
    select g.priority from kairos.gen_durable g
    where g.status = 'runnable' and not g.held and g.queue = l.queue and g.priority > l.priority
    order by g.priority limit 1
  ) n
  where l.place < (select s.priorities from share s)
), looked (queue, priority) as (
  select l.queue, l.priority from lines l
  union
  select n.queue, f.priority from names n
  cross join lateral (
    select g.priority from kairos.gen_durable g
    where g.status = 'runnable' and not g.held and g.queue = n.queue order by g.priority desc limit 1
  ) f
), first as materialized (
  select l.queue, l.priority, f.eligible_at as since
  from looked l
  cross join lateral (
    select g.eligible_at from kairos.gen_durable g
    where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
      and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at limit 1
  ) f
), due as (
  select f.queue, min(f.since) as since, bool_or(w.queue is not null) as served, bool_or(q.name is not null) as known
  from first f
  left join live w on w.queue = f.queue
  left join kairos.queues q on q.name = f.queue
  where q.paused_at is null
  group by f.queue
), late as (
  select d.queue, d.since, case when d.served then 'jobs_overdue' else 'queue_unserved' end as kind,
    case when d.served then $1::interval else $2::interval end as after,
    row_number() over (order by d.served or d.known desc, d.since, d.queue) as place
  from due d
  where d.since <= kairos.now() - case when d.served then $1::interval else $2::interval end
)
select l.kind, l.queue as subject, n.count, l.since, null as detail
from late l
cross join lateral (
  select count(*) from (
    select from first p
    cross join lateral (
      select from kairos.gen_durable g
      where g.queue = p.queue and g.status = 'runnable' and not g.held and g.priority = p.priority
        and g.eligible_at <= kairos.now() - l.after and (g.expires_at is null or g.expires_at > kairos.now())
      order by g.eligible_at limit 1000
    ) each
    where p.queue = l.queue
    limit 1000
  ) counted
) n
where l.place <= $4::int
union all
select l.kind, '(other queues)', count(*), min(l.since), null
from late l
where l.place > $4::int
group by l.kind
