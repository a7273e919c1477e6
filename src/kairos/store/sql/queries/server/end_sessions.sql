-- end_sessions: ends the sessions with the pids $1 that began at $2, if they are still there and of this role.
with
{sessions}
select a.pid, a.application_name, pg_terminate_backend(a.pid) as ended
from unnest($1::int[], $2::timestamptz[]) as s (pid, backend_start)
join sessions a on a.pid = s.pid and a.backend_start = s.backend_start
where a.own
