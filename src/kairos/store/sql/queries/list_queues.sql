-- list_queues: every queue that has live work or settings, with its counts.
select coalesce(n.queue, q.name) as name, q.paused_at, q.concurrency, q.rate_limit, q.rate_period,
  coalesce(q.key_concurrency, 1::smallint) as key_concurrency, q.key_rate_limit, q.key_rate_period,
  coalesce(n.scheduled, 0) as scheduled, coalesce(n.pending, 0) as pending,
  coalesce(n.running, 0) as running, coalesce(n.waiting, 0) as waiting
from (
  select g.queue,
    count(*) filter (where g.status = 'runnable' and g.eligible_at > kairos.now()) as scheduled,
    count(*) filter (where g.status = 'runnable' and g.eligible_at <= kairos.now()) as pending,
    count(*) filter (where g.status = 'executing') as running,
    count(*) filter (where g.status = 'awaiting_signal') as waiting
  from kairos.gen_durable g
  where g.completed_at is null
  group by g.queue
) n
full join kairos.queues q on q.name = n.queue
order by 1
