-- take_keys_within_rate: takes at most $1 keys that exceeded their rate and may start again, each once. open_keys must
-- follow; find_stuck_keys covers the case that it does not.
-- Guard: now >= opens_at.
-- Index: key_rates_opens.
with paid as materialized (
  select r.partition_key from kairos.key_rates r
  where r.opens_at <= kairos.now()
  order by r.opens_at
  limit $1::int
  for update skip locked
)
update kairos.key_rates r set opens_at = null from paid where r.partition_key = paid.partition_key
returning r.partition_key as key
