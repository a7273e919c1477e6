-- charge_key_rates: charges one start to the rate limit of a key for each time it is named.
insert into kairos.key_rates as r (partition_key, rate_full_until)
select k.key, kairos.now() + count(*) * kairos.rate_cost(min(q.key_rate_period), min(q.key_rate_limit))
from unnest($1::text[]) as k (key) join kairos.queues q on q.name = $2
group by k.key
order by k.key
on conflict (partition_key) do update
set rate_full_until = greatest(r.rate_full_until, kairos.now()) + (excluded.rate_full_until - kairos.now())
