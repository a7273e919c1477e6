-- end_frozen_pickers: ends Kairos's own sessions of this role that hold the lock of a queue or a key and have stood
-- still inside their transaction for a second. A picker holds one for milliseconds: its worker is frozen or gone.
select a.pid, a.application_name, pg_terminate_backend(a.pid) as ended
from pg_stat_activity a
where a.datname = current_database() and a.usename = current_user and a.pid <> pg_backend_pid()
  and a.application_name ~ '^kairos( |$)' and a.application_name not like 'kairos step %'
  and a.state like 'idle in transaction%' and a.state_change < clock_timestamp() - interval '1 second'
  and exists (select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.granted)
