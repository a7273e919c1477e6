-- list_queue_names: the names of queues that have settings, a machine, a worker or live jobs: of each kind at most $1.
-- The queues of jobs are found by skip scans.
-- Index: gen_durable_pick, gen_durable_queue_held, gen_durable_queue_waiting.
with recursive due (queue, n) as (
  (select g.queue, 1 from kairos.gen_durable g
   where g.status = 'runnable' and not g.held order by g.queue, g.priority, g.eligible_at limit 1)
  union all
  select n.queue, d.n + 1 from due d
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where g.status = 'runnable' and not g.held and g.queue > d.queue order by g.queue, g.priority, g.eligible_at limit 1
  ) n
  where d.n < $1::int
), held (queue, n) as (
  (select g.queue, 1 from kairos.gen_durable g where g.status = 'runnable' and g.held order by g.queue limit 1)
  union all
  select n.queue, h.n + 1 from held h
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where g.status = 'runnable' and g.held and g.queue > h.queue order by g.queue limit 1
  ) n
  where h.n < $1::int
), waiting (queue, n) as (
  (select g.queue, 1 from kairos.gen_durable g where g.status = 'awaiting_signal' order by g.queue limit 1)
  union all
  select n.queue, w.n + 1 from waiting w
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where g.status = 'awaiting_signal' and g.queue > w.queue order by g.queue limit 1
  ) n
  where w.n < $1::int
)
select d.queue as name from due d
union
select h.queue from held h
union
select w.queue from waiting w
union
(select q.name from kairos.queues q order by q.name limit $1::int)
union
select m.queue from kairos.machines m
union
select unnest(w.queues) from kairos.workers w
