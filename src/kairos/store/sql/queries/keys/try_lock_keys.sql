-- try_lock_keys: locks keys for this transaction without waiting; returns the keys that it locked.
-- Guard: reading the jobs of the keys must be a later statement, whose snapshot is newer than the lock.
select key from unnest($1::text[]) as k (key) where pg_try_advisory_xact_lock(kairos.key_lock(key))
