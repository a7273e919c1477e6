-- paid_keys: the keys that were over their rate and may start again, at most $1, each told once.
-- Guard: now >= opens_at. Index: key_rates_opens. open_keys must follow; held_keys is the floor under it.
with paid as materialized (
  select r.partition_key from kairos.key_rates r
  where r.opens_at <= kairos.now()
  order by r.opens_at
  limit $1::int
  for update skip locked
)
update kairos.key_rates r set opens_at = null from paid where r.partition_key = paid.partition_key
returning r.partition_key as key
