-- spend_keys: counts each start of a key (a key may be named more than once) against its rate.
insert into kairos.key_rates as r (partition_key, rate_full_until)
select k.key, kairos.now() + count(*) * kairos.rate_cost(min(q.key_rate_period), min(q.key_rate_limit))
from unnest($1::text[]) as k (key) join kairos.queues q on q.name = $2
group by k.key
order by k.key
on conflict (partition_key) do update
set rate_full_until = greatest(r.rate_full_until, kairos.now()) + (excluded.rate_full_until - kairos.now())
