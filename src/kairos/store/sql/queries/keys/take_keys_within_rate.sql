-- take_keys_within_rate: returns at most $1 keys that had exceeded their rate and may start again, and clears their
-- opens_at, so that each is returned once. open_keys must follow; if it does not, find_stuck_keys finds the keys.
-- Guard: now >= opens_at.
-- Index: key_rates_opens.
with opened as materialized (
  select r.partition_key from kairos.key_rates r
  where r.opens_at <= kairos.now()
  order by r.opens_at
  limit $1::int
  for update skip locked
)
update kairos.key_rates r set opens_at = null from opened where r.partition_key = opened.partition_key
returning r.partition_key as key
