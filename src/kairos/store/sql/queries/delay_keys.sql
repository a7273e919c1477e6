-- delay_keys: moves the candidates of keys that are over their rate to the instant at which the key may start again.
-- Guard: run under lock_keys; order within the key is kept, since all move to the same instant. Index: gen_durable_pkey.
with late as materialized (
  select g.id, r.rate_full_until + q.key_rate_period / q.key_rate_limit - q.key_rate_period as at
  from kairos.gen_durable g
  join kairos.key_rates r on r.partition_key = g.partition_key
  join kairos.queues q on q.name = g.queue
  where g.id = any ($1::bigint[]) and g.partition_key = any ($2::text[]) and g.status = 'runnable'
  order by g.id
  for no key update of g skip locked
)
update kairos.gen_durable g set eligible_at = late.at, held = false from late where g.id = late.id
