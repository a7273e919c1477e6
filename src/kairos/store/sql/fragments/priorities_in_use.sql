-- priorities_in_use: the priorities of the runnable jobs of queue $1, from {rows}, each with the eligible_at and id of
-- its first job, as `priorities`. They are found by a skip scan, so that jobs that are not due are not read.
priorities as (
  (select g.priority, g.eligible_at, g.id from {rows}
   where g.queue = $1 and g.status = 'runnable' and not g.held
   order by g.priority, g.eligible_at, g.id limit 1)
  union all
  select n.priority, n.eligible_at, n.id from priorities p
  cross join lateral (
    select g.priority, g.eligible_at, g.id from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority > p.priority
    order by g.priority, g.eligible_at, g.id limit 1
  ) n
)
