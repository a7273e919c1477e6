-- spend_keys: counts one start against the rate of each key.
insert into kairos.key_rates (partition_key, rate_full_until)
select k.key, kairos.now() + q.key_rate_period / q.key_rate_limit
from unnest($1::text[]) as k (key) join kairos.queues q on q.name = $2
on conflict (partition_key) do update
set rate_full_until = greatest(key_rates.rate_full_until, kairos.now())
  + (select q.key_rate_period / q.key_rate_limit from kairos.queues q where q.name = $2)
