-- admit_queue: how many of $2 jobs the limits of a locked queue let start now, and when the next may.
-- Guard: run under lock_queue, in a later statement. rate_full_until is the instant at which all admitted
-- starts are paid off at one per rate_cost (GCRA): exact, and one column.
select
  greatest(0, least(
    $2::int,
    q.concurrency - (select count(*) from kairos.gen_durable g where g.status = 'executing' and g.queue = $1),
    q.rate_limit - ceil(extract(epoch from greatest(q.rate_full_until - kairos.now(), interval '0'))
                        / extract(epoch from kairos.rate_cost(q.rate_period, q.rate_limit)))
  ))::int as admitted,
  greatest(q.rate_full_until - (q.rate_limit - 1) * kairos.rate_cost(q.rate_period, q.rate_limit) - kairos.now(),
           interval '0') as wait
from kairos.queues q
where q.name = $1 and q.paused_at is null
