-- limit_lock_wait: limits to $1 how long the rest of the transaction waits for any one lock; returns the pid of its
-- backend.
select pg_backend_pid() as pid, set_config('lock_timeout', $1::text, true) as lock_timeout
