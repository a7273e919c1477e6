-- hold_keys: holds the candidates of keys that exceed their rate until the key may start again. Their eligible_at does
-- not change, and so neither does the order within the key.
-- Guard: run under try_lock_keys.
-- Index: gen_durable_pkey.
with late as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any ($1::bigint[]) and g.partition_key = any ($2::text[]) and g.status = 'runnable'
  order by g.id
  for no key update skip locked
), held as (
  update kairos.gen_durable g set held = true from late where g.id = late.id
)
update kairos.key_rates r
set opens_at = r.rate_full_until - (q.key_rate_limit - 1) * kairos.rate_cost(q.key_rate_period, q.key_rate_limit)
from kairos.queues q where q.name = $3 and r.partition_key = any ($2::text[])
