-- end_frozen_sessions: ends Kairos's own sessions of this role that have waited for their client for 0.6 s and block
-- others: they hold the lock of a queue, a key or a schedule, or are in a pick, which locks its jobs. A healthy worker
-- needs milliseconds for each of these, so this one is frozen or gone. A session is `active` if its client does not
-- read its result, or sent only half of a statement; no timeout of Postgres ends it. The lock 118066125107059 is that
-- of a migration (MUTEX in store/migration_runner.py), which may wait for long.
with
{sessions}
select a.pid, a.application_name, pg_terminate_backend(a.pid) as ended
from sessions a
where a.own and a.application_name not like 'kairos step %'
  and (a.state like 'idle in transaction%' or (a.state = 'active' and a.wait_event_type = 'Client'))
  and a.state_change < clock_timestamp() - interval '0.6 seconds'
  and (a.query like '-- pick\_%' or exists (
    select from pg_locks l
    where l.pid = a.pid and l.granted
      and case l.locktype
        when 'advisory' then ((l.classid::bigint << 32) | l.objid::bigint) <> 118066125107059
        when 'relation' then l.relation = 'kairos.schedules'::regclass and l.mode = 'RowShareLock' end))
