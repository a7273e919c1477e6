-- wait_keys: keeps this transaction's keys to itself, waiting for pickers under way, always in the same order.
select pg_advisory_xact_lock(lock) from (
  select distinct kairos.key_lock(key) as lock from unnest($1::text[]) as k (key) order by 1
) as ordered
