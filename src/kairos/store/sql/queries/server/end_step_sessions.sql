-- end_step_sessions: ends the sessions named $1, which hold the transactions of steps whose jobs were reaped: their
-- commit would be stale, and until they end the next run of the step may wait for their locks.
with
{sessions}
select a.pid, a.application_name, pg_terminate_backend(a.pid) as ended
from sessions a
where a.application_name = any ($1::text[]) and a.own
