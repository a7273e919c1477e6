-- lock_keys: keeps this transaction's keys to itself without waiting; answers the keys it got.
-- Guard: the look at the keys must be a later statement, whose snapshot is younger than the lock.
select key from unnest($1::text[]) as k (key) where pg_try_advisory_xact_lock(kairos.key_lock(key))
