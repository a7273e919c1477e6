-- end_step_sessions: ends the sessions named $1, which hold the transactions of steps whose jobs were reaped: their
-- commit would be stale, and until they end the next run of the step may wait for their locks.
select a.pid, a.application_name, pg_terminate_backend(a.pid) as ended
from pg_stat_activity a
where a.application_name = any ($1::text[]) and a.usename = current_user and a.datname = current_database()
