-- waiting_lines: the queues and priorities of the jobs that wait for a worker, as `lines` (queue, priority), and the
-- queues of those that are held behind others of their key, as `held` (queue): of queue {queue}, or of all with a name
-- greater than {after}. Of each queue at most {most} priorities are found, the most urgent ones; `place` numbers them.
-- They are found by a skip scan, one index descent each.
lines (queue, priority, place) as (
  ((select g.queue, g.priority, 1 from kairos.gen_durable g
    where {queue}::text is null and g.status = 'runnable' and not g.held and g.queue > {after}
    order by g.queue, g.priority limit 1)
   union all
   (select g.queue, g.priority, 1 from kairos.gen_durable g
    where g.queue = {queue}::text and g.status = 'runnable' and not g.held order by g.priority limit 1))
  union all
  select n.queue, n.priority, n.place from lines l
  cross join lateral (
    (select g.queue, g.priority, l.place + 1 as place from kairos.gen_durable g
     where l.place < {most} and g.status = 'runnable' and not g.held and g.queue = l.queue and g.priority > l.priority
     order by g.priority limit 1)
    union all
    (select g.queue, g.priority, 1 from kairos.gen_durable g
     where {queue}::text is null and g.status = 'runnable' and not g.held and g.queue > l.queue
     order by g.queue, g.priority limit 1)
    limit 1
  ) n
), held (queue) as (
  ((select g.queue from kairos.gen_durable g
    where {queue}::text is null and g.status = 'runnable' and g.held and g.queue > {after}
    order by g.queue limit 1)
   union all
   select {queue}::text where {queue}::text is not null)
  union all
  select n.queue from held h
  cross join lateral (
    select g.queue from kairos.gen_durable g
    where {queue}::text is null and g.status = 'runnable' and g.held and g.queue > h.queue order by g.queue limit 1
  ) n
)
