-- admit_keys: how many jobs of each locked key may start now under the queue's rate per key.
-- Guard: run under try_lock_keys. Same arithmetic as admit_queue.
select k.key,
  greatest(0, q.key_rate_limit - ceil(extract(epoch from greatest(r.rate_full_until - kairos.now(), interval '0'))
                                      / extract(epoch from kairos.rate_cost(q.key_rate_period, q.key_rate_limit))
  ))::int as admitted
from unnest($1::text[]) as k (key)
join kairos.queues q on q.name = $2
left join kairos.key_rates r on r.partition_key = k.key
