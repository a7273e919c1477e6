-- limit_lock_wait: bounds by $1 how long the rest of the transaction waits for any one lock; answers its backend's pid.
select pg_backend_pid() as pid, set_config('lock_timeout', $1::text, true) as lock_timeout
