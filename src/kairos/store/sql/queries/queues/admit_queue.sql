-- admit_queue: how many of $2 jobs the limits of a locked queue allow to start now, when the next one may start,
-- and whether the queue has a rate limit, which the starts are charged to.
-- rate_full_until is the instant at which the rate's budget is full again, at one start per rate_cost (GCRA): exact,
-- and one column.
-- Guard: run under lock_queue, in a later statement.
select
  greatest(0, least(
    $2::int,
    q.concurrency - (select count(*) from kairos.gen_durable g where g.status = 'executing' and g.queue = $1),
    q.rate_limit - ceil(extract(epoch from greatest(q.rate_full_until - kairos.now(), interval '0'))
                        / extract(epoch from kairos.rate_cost(q.rate_period, q.rate_limit)))
  ))::int as admitted,
  greatest(q.rate_full_until - (q.rate_limit - 1) * kairos.rate_cost(q.rate_period, q.rate_limit) - kairos.now(),
           interval '0') as wait,
  q.rate_limit is not null as rated
from kairos.queues q
where q.name = $1 and q.paused_at is null
