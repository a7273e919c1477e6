-- find_late_vacuum: finds tables with many dead rows that were not vacuumed for long. Times that Postgres reports about
-- itself are by its own clock.
-- Parameters: $1 the number of dead rows, $2 the time since the last vacuum.
select 'vacuum_behind' as kind, t.relname as subject, t.n_dead_tup as count, v.at as since, t.n_live_tup::text as detail
from pg_stat_user_tables t
cross join lateral (
  select greatest(t.last_vacuum, t.last_autovacuum, pg_postmaster_start_time(),
                  (select max(m.applied_at) from kairos.migrations m)) as at
) v
where t.relid in ('kairos.gen_durable'::regclass, 'kairos.history'::regclass, 'kairos.signals'::regclass,
                  'kairos.job_ledger'::regclass, 'kairos.incidents'::regclass)
  and t.n_dead_tup >= $1::bigint and t.n_dead_tup >= t.n_live_tup / 5
  and v.at <= clock_timestamp() - $2::interval
