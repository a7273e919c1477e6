-- list_queues: every queue that has or had jobs, has settings or is served by a live worker (seen within $5), or only
-- queue $1, with its counts. By name, at most $4 queues after $3 (null: from the start, all). Queues and priorities are
-- found by skip scans, so that one backlog does not hide another queue. Rows are counted in the indexes alone, about $2
-- at most, shared by all queues and priorities with at least a thousand each. at_least names the states that may have
-- more; oldest_at is when the oldest due job was due. Running jobs are few and always counted completely. Uses
-- gen_durable_kinds, gen_durable_pick, gen_durable_queue_held, gen_durable_queue_waiting and gen_durable_lease.
with recursive
{waiting_lines: queue=$1; after=coalesce($3::text, '')},
waiting (queue) as (
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
), stored (queue) as (
  -- Those that have jobs of any kind.
  ((select g.queue from kairos.gen_durable g
    where $1::text is null and g.status <> 'executing' and g.queue > coalesce($3::text, '') order by g.queue limit 1)
   union all
   (select g.queue from kairos.gen_durable g
    where g.queue = $1::text and g.status <> 'executing' order by g.queue, g.fsm limit 1))
  union all
  select n.queue from stored s
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where $1::text is null and g.status <> 'executing' and g.queue > s.queue order by g.queue limit 1
  ) n
), share as materialized (
  select greatest(1000, $2::int / greatest(1, count(*))) as most
  from (select from lines union all select from held union all select from waiting) line
), counted (queue, state, jobs, oldest_at, more) as (
  {count_line: state=pending; lines=lines; jobs=not g.held and g.priority = l.priority; side=<=}
  union all
  {count_line: state=scheduled; lines=lines; jobs=not g.held and g.priority = l.priority; side=>}
  union all
  {count_line: state=pending; lines=held; jobs=g.held; side=<=}
  union all
  {count_line: state=scheduled; lines=held; jobs=g.held; side=>}
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
    min(c.oldest_at) filter (where c.state = 'pending') as oldest_at, array_agg(distinct c.state) filter (where c.more) as at_least
  from counted c where c.jobs > 0 group by c.queue
)
select named.name, q.paused_at, q.concurrency, q.rate_limit, q.rate_period,
  coalesce(q.key_concurrency, 1::smallint) as key_concurrency, q.key_rate_limit, q.key_rate_period,
  coalesce(n.scheduled, 0)::bigint as scheduled, coalesce(n.pending, 0)::bigint as pending,
  coalesce(n.running, 0)::bigint as running, coalesce(n.waiting, 0)::bigint as waiting,
  n.oldest_at, coalesce(n.at_least, '{}') as at_least
from (
  select s.queue as name from summed s
  union select q.name from kairos.queues q
  union select s.queue from stored s
  -- Those whose jobs were all deleted.
  union select t.queue from kairos.tallies t where t.grain = 0
  union select unnest(w.queues) from kairos.workers w where w.seen_at > kairos.now() - $5::interval
) named
left join summed n on n.queue = named.name
left join kairos.queues q on q.name = named.name
where named.name > coalesce($3::text, '') and ($1::text is null or named.name = $1::text)
order by 1
limit $4::int
