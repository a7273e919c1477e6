-- find_decay: what falls behind slowly: retention, vacuum, transactions left open, and a ledger that does not balance.
-- Of the ledger, here, that nothing was removed but by retention; count_ledger counts the jobs themselves.
-- $1 a worker is live for, $2 retention may be late by, $3 dead rows, $4 without a vacuum for, $5 a transaction open for.
-- What Postgres tells of itself is by its own clock. Index: gen_durable_completed.
select 'retention_behind' as kind, 'jobs' as subject, 1::bigint as count, oldest.completed_at as since, null as detail
from (
  select min(w.retention) as kept from kairos.workers w where w.seen_at > kairos.now() - $1::interval
) live
cross join lateral (select min(g.completed_at) as completed_at from kairos.gen_durable g
                    where g.completed_at is not null) oldest
where oldest.completed_at <= kairos.now() - live.kept - $2::interval
union all
select 'vacuum_behind', t.relname, t.n_dead_tup, v.at, t.n_live_tup::text
from pg_stat_user_tables t
cross join lateral (
  select greatest(t.last_vacuum, t.last_autovacuum, pg_postmaster_start_time(),
                  (select max(m.applied_at) from kairos.migrations m)) as at
) v
where t.relid in ('kairos.gen_durable'::regclass, 'kairos.history'::regclass, 'kairos.signals'::regclass,
                  'kairos.job_ledger'::regclass, 'kairos.incidents'::regclass)
  and t.n_dead_tup >= $3::bigint and t.n_dead_tup >= t.n_live_tup / 5
  and v.at <= clock_timestamp() - $4::interval
union all
select 'transaction_open', 'pid ' || a.pid, 1, a.xact_start,
  coalesce(nullif(a.application_name, ''), a.usename::text, '?') || ', ' || coalesce(a.state, '?')
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type in ('client backend', 'walsender')
  and a.xact_start <= clock_timestamp() - $5::interval
union all
select 'ledger_unbalanced', 'removed', abs(l.removed - p.jobs), kairos.now(),
  l.removed || ' jobs left the table, and retention removed ' || p.jobs
from (select coalesce(sum(l.removed - l.written_off), 0) as removed from kairos.job_ledger l) l
cross join (select coalesce(sum(p.jobs), 0) as jobs from kairos.purged p) p
where l.removed <> p.jobs
