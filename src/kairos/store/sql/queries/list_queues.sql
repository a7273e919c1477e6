-- list_queues: every queue that has live work or settings, or the one called $1, with its counts.
-- Queues are found by a skip scan, and rows counted in the indexes alone.
-- By gen_durable_pick, gen_durable_held, gen_durable_listed and gen_durable_lease.
with recursive lines as (
  select coalesce($1::text, (
    select g.queue from kairos.gen_durable g
    where g.status = 'runnable' and not g.held order by g.queue limit 1)) as queue
  union all
  select (select g.queue from kairos.gen_durable g
          where g.status = 'runnable' and not g.held and g.queue > l.queue order by g.queue limit 1)
  from lines l where l.queue is not null and $1::text is null
), counted as (
  select l.queue, c.scheduled, c.pending, 0 as running, 0 as waiting
  from lines l
  cross join lateral (
    select count(*) filter (where g.eligible_at > kairos.now()) as scheduled,
           count(*) filter (where g.eligible_at <= kairos.now()) as pending
    from kairos.gen_durable g where g.queue = l.queue and g.status = 'runnable' and not g.held
  ) c
  where l.queue is not null and c.scheduled + c.pending > 0
  union all
  select g.queue, count(*) filter (where g.eligible_at > kairos.now()),
         count(*) filter (where g.eligible_at <= kairos.now()), 0, 0
  from kairos.gen_durable g where g.status = 'runnable' and g.held group by g.queue
  union all
  select g.queue, 0, 0, count(*), 0 from kairos.gen_durable g where g.status = 'executing' group by g.queue
  union all
  select g.queue, 0, 0, 0, count(*) from kairos.gen_durable g
  where g.status = 'awaiting_signal' and g.status <> 'executing' group by g.queue
), summed as (
  select c.queue, sum(c.scheduled)::bigint as scheduled, sum(c.pending)::bigint as pending,
         sum(c.running)::bigint as running, sum(c.waiting)::bigint as waiting
  from counted c where $1::text is null or c.queue = $1::text group by c.queue
)
select coalesce(n.queue, q.name) as name, q.paused_at, q.concurrency, q.rate_limit, q.rate_period,
  coalesce(q.key_concurrency, 1::smallint) as key_concurrency, q.key_rate_limit, q.key_rate_period,
  coalesce(n.scheduled, 0) as scheduled, coalesce(n.pending, 0) as pending,
  coalesce(n.running, 0) as running, coalesce(n.waiting, 0) as waiting
from summed n
full join (select * from kairos.queues q where $1::text is null or q.name = $1::text) q on q.name = n.queue
order by 1
