-- find_blockers: the sessions that the backend $1 waits for, and whether each may be ended. It may if it is Kairos's
-- own, of this role, has been idle inside its transaction for 0.6 s, and is no step whose lease is still valid (the
-- name of a step's session says which job and lease: see worker/transaction.py). Index: gen_durable_pkey.
with
{sessions}
select a.pid, a.backend_start, a.usename, a.application_name, coalesce(a.state, '?') as state,
  a.state_change at time zone 'utc' as state_change,
  a.own and (a.state like 'idle in transaction%' or a.wait_event_type = 'Client')
    and a.state_change < clock_timestamp() - interval '0.6 seconds'
    and not exists (
      select from kairos.gen_durable g
      where g.id = (regexp_match(a.application_name, '^kairos step (\d+):(\d+)'))[1]::bigint
        and g.lease = (regexp_match(a.application_name, '^kairos step (\d+):(\d+)'))[2]::bigint
        and g.lease_expires_at > kairos.now()
    ) as frozen
from sessions a
where a.pid = any (pg_blocking_pids($1::int))
order by a.pid
