-- find_lock_holders: the sessions that lock a whole table of Kairos, or for whose locks sessions of Kairos of this role
-- wait, and what they lock. Those that only stand in the queue for the same lock are left out.
with
{sessions}
select distinct f.locked, h.pid, h.usename, h.application_name, coalesce(h.state, '?') as state,
  h.state_change at time zone 'utc' as state_change
from (
  select l.pid, l.relation::regclass::text as locked
  from pg_locks l join pg_class c on c.oid = l.relation
  where l.granted and c.relnamespace = (select q.relnamespace from pg_class q where q.oid = 'kairos.queues'::regclass) and c.relkind = 'r'
    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
  union all
  select b.pid, coalesce(l.relation::regclass::text, l.locktype)
  from sessions w
  join pg_locks l on l.pid = w.pid and not l.granted
  cross join lateral unnest(pg_blocking_pids(w.pid)) as b (pid)
  where w.own and w.wait_event_type = 'Lock'
) f
join sessions h on h.pid = f.pid
where h.wait_event_type is distinct from 'Lock'
order by f.locked, h.pid
