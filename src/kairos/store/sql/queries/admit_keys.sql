-- admit_keys: which of the locked keys may start a job now under the queue's rate per key, and when the others may.
-- Guard: run under lock_keys. Same arithmetic as admit_queue.
select k.key,
  greatest(r.rate_full_until + q.key_rate_period / q.key_rate_limit - q.key_rate_period, kairos.now()) <= kairos.now()
    or r.partition_key is null as admitted
from unnest($1::text[]) as k (key)
join kairos.queues q on q.name = $2
left join kairos.key_rates r on r.partition_key = k.key
