-- tail_logs: the log lines of the jobs $1, each after its own cursor ($2): of each job at most $3 and about $4 bytes,
-- but at least one line. `bytes` is the sum of sizes up to a line of its job.
-- Index: logs_pkey.
select w.job as job_id, l.cursor, l.at, l.level, l.line, l.fields::text as fields, l.step, l.attempt, l.stream, t.bytes
from unnest($1::bigint[], $2::bigint[]) as w (job, cursor)
cross join lateral (
  with recursive taken (cursor, n, bytes) as (
    select w.cursor, 0, 0::bigint
    union all
    select k.cursor, t.n + 1, t.bytes + k.size
    from taken t
    cross join lateral (
      select k.cursor, 150 + octet_length(k.line) + coalesce(octet_length(k.fields::text), 0) as size
      from kairos.logs k where k.job_id = w.job and k.cursor > t.cursor
      order by k.cursor limit 1
    ) k
    where t.n < $3::int and t.bytes < $4::bigint
  )
  select t.cursor, t.bytes from taken t where t.n > 0
) t
cross join lateral (select * from kairos.logs k where k.job_id = w.job and k.cursor = t.cursor limit 1) l
order by w.job, l.cursor
