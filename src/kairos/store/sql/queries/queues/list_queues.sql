-- list_queues: every queue that has or had jobs, has settings or is served by a live worker (seen within $5), or only
-- queue $1, with its counts. By name, at most $4 queues after $3 (null: from the start, all). Queues and priorities are
-- found by skip scans, so that a large backlog in one queue does not hide another queue. Rows are counted in the
-- indexes alone: in each state at most $2 divided by the number of queues, at least a thousand. The divisor counts
-- queues with and without jobs, so that a backlog beyond the limit has the same count at each read. `at_least` names
-- the states that may have more; `oldest_at` is when the oldest due job was due. Of a queue with more priorities than $6
-- divided by the number of queues, the first jobs are counted whatever their priority. Running jobs are few and always
-- counted completely. Uses gen_durable_kinds, gen_durable_pick, gen_durable_queue_held, gen_durable_queue_waiting and
-- gen_durable_lease.
with recursive
{waiting_lines: queue=$1; after=coalesce($3::text, ''); most=(select s.priorities + 1 from share s)},
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
  -- Queues with jobs in any state but running.
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
), named (name) as materialized (
  select each.name
  from (
    select s.queue as name from stored s
    union select g.queue from kairos.gen_durable g where g.status = 'executing'
    union select q.name from kairos.queues q
    -- Queues whose jobs were all deleted.
    union select t.queue from kairos.tallies t where t.grain = 0
    union select unnest(w.queues) from kairos.workers w where w.seen_at > kairos.now() - $5::interval
  ) each
  where each.name > coalesce($3::text, '') and ($1::text is null or each.name = $1::text)
), share as materialized (
  select greatest(1000, $2::int / greatest(1, count(*))) as most, greatest(1, $6::int / greatest(1, count(*))) as priorities
  from named
), in_lines (queue, priorities) as materialized (
  select l.queue, array_agg(l.priority order by l.priority) from lines l
  group by l.queue having count(*) <= (select s.priorities from share s)
), mixed as materialized (
  -- Queues with too many priorities to look into each: their first jobs are counted, whenever they are due.
  select l.queue, n.* from (
    select l.queue from lines l group by l.queue having count(*) > (select s.priorities from share s)
  ) l
  cross join lateral (
    select count(*) filter (where e.eligible_at <= kairos.now()) as pending,
      count(*) filter (where e.eligible_at > kairos.now()) as scheduled,
      count(*) >= (select s.most from share s) as more,
      min(e.eligible_at) filter (where e.eligible_at <= kairos.now()) as oldest_at
    from (
      select g.eligible_at from kairos.gen_durable g
      where g.queue = l.queue and g.status = 'runnable' and not g.held
      order by g.priority, g.eligible_at limit (select s.most from share s)
    ) e
  ) n
), behind_keys (queue, priorities) as (
  -- The index of held jobs does not have the priority: all are counted as of one.
  select h.queue, array[0::smallint] from held h
), counted (queue, state, jobs, more) as (
  {count_runnable_jobs: state=pending; lines=in_lines; jobs=not g.held and g.priority = f.priorities[f.next]; side=<=}
  union all
  {count_runnable_jobs: state=scheduled; lines=in_lines; jobs=not g.held and g.priority = f.priorities[f.next]; side=>}
  union all
  {count_runnable_jobs: state=pending; lines=behind_keys; jobs=g.held; side=<=}
  union all
  {count_runnable_jobs: state=scheduled; lines=behind_keys; jobs=g.held; side=>}
  union all
  select m.queue, 'pending', m.pending, m.more from mixed m
  union all
  select m.queue, 'scheduled', m.scheduled, m.more from mixed m
  union all
  select w.queue, 'waiting', n.jobs, n.jobs >= (select s.most from share s)
  from waiting w
  cross join lateral (
    select count(*) as jobs from (
      select from kairos.gen_durable g
      where g.queue = w.queue and g.status = 'awaiting_signal' limit (select s.most from share s)
    ) each
  ) n
  union all
  select g.queue, 'running', count(*), false from kairos.gen_durable g
  where g.status = 'executing' and ($1::text is null or g.queue = $1::text) group by g.queue
), summed as (
  select c.queue, sum(c.jobs) filter (where c.state = 'scheduled') as scheduled,
    sum(c.jobs) filter (where c.state = 'pending') as pending, sum(c.jobs) filter (where c.state = 'running') as running,
    sum(c.jobs) filter (where c.state = 'waiting') as waiting,
    array_agg(distinct c.state) filter (where c.more) as at_least
  from counted c where c.jobs > 0 or c.more group by c.queue
), first_due (queue, oldest_at) as (
  select due.queue, min(due.eligible_at)
  from (
    select l.queue, g.eligible_at from lines l
    join in_lines i on i.queue = l.queue
    cross join lateral (
      select g.eligible_at from kairos.gen_durable g
      where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
        and g.eligible_at <= kairos.now()
      order by g.eligible_at limit 1
    ) g
    union all
    select m.queue, m.oldest_at from mixed m where m.oldest_at is not null
    union all
    select h.queue, g.eligible_at from held h
    cross join lateral (
      select g.eligible_at from kairos.gen_durable g
      where g.queue = h.queue and g.status = 'runnable' and g.held and g.eligible_at <= kairos.now()
      order by g.eligible_at limit 1
    ) g
  ) due
  group by due.queue
)
select named.name,
  {queue_settings},
  coalesce(n.scheduled, 0)::bigint as scheduled, coalesce(n.pending, 0)::bigint as pending,
  coalesce(n.running, 0)::bigint as running, coalesce(n.waiting, 0)::bigint as waiting,
  f.oldest_at, coalesce(n.at_least, '{}') as at_least
from named
left join summed n on n.queue = named.name
left join first_due f on f.queue = named.name
left join kairos.queues q on q.name = named.name
order by 1
limit $4::int
