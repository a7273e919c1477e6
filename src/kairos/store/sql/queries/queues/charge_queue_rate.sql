-- charge_queue_rate: charges $2 starts to the rate limit of a locked queue.
update kairos.queues q
set rate_full_until = greatest(q.rate_full_until, kairos.now()) + $2::int * kairos.rate_cost(q.rate_period, q.rate_limit)
where q.name = $1 and q.rate_limit is not null
