-- page_logs: the log lines of one job after cursor $2, in order: at most $3 and about $4 bytes, but at least one line.
-- `bytes` is the sum of sizes up to a line.
-- Index: logs_pkey.
with recursive taken (cursor, n, bytes) as (
  select $2::bigint, 0, 0::bigint
  union all
  select l.cursor, t.n + 1, t.bytes + l.size
  from taken t
  cross join lateral (
    select k.cursor, 150 + octet_length(k.line) + coalesce(octet_length(k.fields::text), 0) as size
    from kairos.logs k where k.job_id = $1::bigint and k.cursor > t.cursor
    order by k.cursor limit 1
  ) l
  where t.n < $3::int and t.bytes < $4::bigint
)
select l.cursor, l.at, l.level, l.line, l.fields::text as fields, l.step, l.attempt, l.stream, t.bytes
from taken t
cross join lateral (select * from kairos.logs k where k.job_id = $1::bigint and k.cursor = t.cursor limit 1) l
where t.n > 0
order by l.cursor
