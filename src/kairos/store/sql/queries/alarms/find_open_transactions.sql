-- find_open_transactions: finds sessions whose transaction has been open for long. Times that Postgres reports about
-- itself are by its own clock.
-- Parameters: $1 how long it must have been open.
select 'transaction_open' as kind, 'pid ' || a.pid as subject, 1::bigint as count, a.xact_start as since,
  coalesce(nullif(a.application_name, ''), a.usename::text, '?') || ', ' || coalesce(a.state, '?') as detail
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type in ('client backend', 'walsender')
  and a.xact_start <= clock_timestamp() - $1::interval
