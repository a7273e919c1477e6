-- kinds_in_use: the queues that have jobs, as `queues`, and their actions, as `pairs` (queue, fsm), if the statement's
-- `path` is 'kinds': of queue {queue} and action {action}, or all. The last row of each is null. They are found by a
-- skip scan.
queues (queue) as (
  select coalesce({queue}::text, (
    select g.queue from kairos.gen_durable g where g.status <> 'executing' order by g.queue limit 1))
  from path p where p.name = 'kinds'
  union all
  select (
    select g.queue from kairos.gen_durable g
    where g.status <> 'executing' and g.queue > q.queue order by g.queue limit 1)
  from queues q where q.queue is not null and {queue}::text is null
), pairs (queue, fsm) as (
  select q.queue, coalesce({action}::text, (
    select g.fsm from kairos.gen_durable g
    where g.status <> 'executing' and g.queue = q.queue order by g.queue, g.fsm limit 1))
  from queues q where q.queue is not null
  union all
  select p.queue, (
    select g.fsm from kairos.gen_durable g
    where g.status <> 'executing' and g.queue = p.queue and g.fsm > p.fsm order by g.queue, g.fsm limit 1)
  from pairs p where p.fsm is not null and {action}::text is null
)
