-- list_queues: every queue that has live work or settings, or the one called $1, with its counts.
-- Queues and priorities are found by skip scans, so that no backlog hides another queue; rows are counted in the
-- indexes alone, and no more of them than about $2: lines share that, a thousand each at least. at_least names the
-- states that may have more; oldest_at is when the oldest due one was due. What runs is as little as the workers can
-- hold, and counted whole. By name, at most $4 queues after $3 (null: from the first, and all).
-- By gen_durable_pick, gen_durable_queue_held, gen_durable_queue_waiting and gen_durable_lease.
with recursive lines (queue, priority) as (
  ((select g.queue, g.priority from kairos.gen_durable g
    where $1::text is null and g.status = 'runnable' and not g.held and g.queue > coalesce($3::text, '')
    order by g.queue, g.priority limit 1)
   union all
   (select g.queue, g.priority from kairos.gen_durable g
    where g.queue = $1::text and g.status = 'runnable' and not g.held order by g.priority limit 1))
  union all
  select n.queue, n.priority from lines l
  cross join lateral (
    (select g.queue, g.priority from kairos.gen_durable g
     where g.status = 'runnable' and not g.held and g.queue = l.queue and g.priority > l.priority
     order by g.priority limit 1)
    union all
    (select g.queue, g.priority from kairos.gen_durable g
     where $1::text is null and g.status = 'runnable' and not g.held and g.queue > l.queue
     order by g.queue, g.priority limit 1)
    limit 1
  ) n
), held (queue) as (
  ((select g.queue from kairos.gen_durable g
    where $1::text is null and g.status = 'runnable' and g.held and g.queue > coalesce($3::text, '')
    order by g.queue limit 1)
   union all
   select $1::text where $1::text is not null)
  union all
  select n.queue from held h
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where $1::text is null and g.status = 'runnable' and g.held and g.queue > h.queue order by g.queue limit 1
  ) n
), waiting (queue) as (
  ((select g.queue from kairos.gen_durable g
    where $1::text is null and g.status = 'awaiting_signal' and g.queue > coalesce($3::text, '')
    order by g.queue limit 1)
   union all
   select $1::text where $1::text is not null)
  union all
  select n.queue from waiting w
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where $1::text is null and g.status = 'awaiting_signal' and g.queue > w.queue order by g.queue limit 1
  ) n
), share as materialized (
  select greatest(1000, $2::int / greatest(1, count(*))) as most
  from (select from lines union all select from held union all select from waiting) line
), counted (queue, state, jobs, oldest_at, more) as (
  select l.queue, 'pending', n.jobs, n.oldest_at, n.jobs >= (select s.most from share s)
  from lines l
  cross join lateral (
    select count(*) as jobs, min(due.eligible_at) as oldest_at from (
      select g.eligible_at from kairos.gen_durable g
      where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
        and g.eligible_at <= kairos.now()
      order by g.eligible_at limit (select s.most from share s)
    ) due
  ) n
  union all
  select l.queue, 'scheduled', n.jobs, null, n.jobs >= (select s.most from share s)
  from lines l
  cross join lateral (
    select count(*) as jobs from (
      select from kairos.gen_durable g
      where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
        and g.eligible_at > kairos.now()
      limit (select s.most from share s)
    ) later
  ) n
  union all
  select h.queue, 'pending', n.jobs, n.oldest_at, n.jobs >= (select s.most from share s)
  from held h
  cross join lateral (
    select count(*) as jobs, min(due.eligible_at) as oldest_at from (
      select g.eligible_at from kairos.gen_durable g
      where g.queue = h.queue and g.status = 'runnable' and g.held and g.eligible_at <= kairos.now()
      order by g.eligible_at limit (select s.most from share s)
    ) due
  ) n
  union all
  select h.queue, 'scheduled', n.jobs, null, n.jobs >= (select s.most from share s)
  from held h
  cross join lateral (
    select count(*) as jobs from (
      select from kairos.gen_durable g
      where g.queue = h.queue and g.status = 'runnable' and g.held and g.eligible_at > kairos.now()
      limit (select s.most from share s)
    ) later
  ) n
  union all
  select w.queue, 'waiting', n.jobs, null, n.jobs >= (select s.most from share s)
  from waiting w
  cross join lateral (
    select count(*) as jobs from (
      select from kairos.gen_durable g
      where g.queue = w.queue and g.status = 'awaiting_signal' limit (select s.most from share s)
    ) each
  ) n
  union all
  select g.queue, 'running', count(*), null, false from kairos.gen_durable g
  where g.status = 'executing' and ($1::text is null or g.queue = $1::text) group by g.queue
), summed as (
  select c.queue, sum(c.jobs) filter (where c.state = 'scheduled') as scheduled,
    sum(c.jobs) filter (where c.state = 'pending') as pending, sum(c.jobs) filter (where c.state = 'running') as running,
    sum(c.jobs) filter (where c.state = 'waiting') as waiting,
    min(c.oldest_at) as oldest_at, array_agg(distinct c.state) filter (where c.more) as at_least
  from counted c where c.jobs > 0 group by c.queue
)
select coalesce(n.queue, q.name) as name, q.paused_at, q.concurrency, q.rate_limit, q.rate_period,
  coalesce(q.key_concurrency, 1::smallint) as key_concurrency, q.key_rate_limit, q.key_rate_period,
  coalesce(n.scheduled, 0)::bigint as scheduled, coalesce(n.pending, 0)::bigint as pending,
  coalesce(n.running, 0)::bigint as running, coalesce(n.waiting, 0)::bigint as waiting,
  n.oldest_at, coalesce(n.at_least, '{}') as at_least
from summed n
full join (select * from kairos.queues q where $1::text is null or q.name = $1::text) q on q.name = n.queue
where coalesce(n.queue, q.name) > coalesce($3::text, '')
order by 1
limit $4::int
