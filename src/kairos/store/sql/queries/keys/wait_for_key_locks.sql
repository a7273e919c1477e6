-- wait_for_key_locks: locks keys for this transaction and waits for pickers that hold them, always in the same order.
-- The statement fails if a key stays locked for longer than 250 ms: a picker needs milliseconds.
with lock_limit as materialized (
  select set_config('lock_timeout', '250ms', true) as lock_timeout
)
select pg_advisory_xact_lock(lock) from (
  select distinct kairos.key_lock(key) as lock from unnest($1::text[]) as k (key) order by 1
) as ordered
where (select p.lock_timeout from lock_limit p) is not null
