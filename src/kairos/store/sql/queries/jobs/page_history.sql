-- page_history: the history of one job after row $2, in order: at most $3 rows and about $4 bytes, but at least one
-- row. `bytes` is the sum of sizes up to a row. Compared as rows: with equality, ids alone would define the order, and
-- a plan might walk the history of all jobs.
-- Index: history_pkey.
with recursive taken (id, n, bytes) as (
  select $2::bigint, 0, 0::bigint
  union all
  select n.id, t.n + 1, t.bytes + n.size
  from taken t
  cross join lateral (
    select h.id, 200 + coalesce(octet_length(h.reason), 0) + coalesce(octet_length(h.state::text), 0) as size from kairos.history h
    where (h.job_id, h.id) > ($1::bigint, t.id) and (h.job_id, h.id) <= ($1::bigint, 9223372036854775807)
    order by h.job_id, h.id limit 1
  ) n
  where t.n < $3::int and t.bytes < $4::bigint
)
select
  {history_columns},
  t.bytes
from taken t
cross join lateral (select * from kairos.history o where o.job_id = $1::bigint and o.id = t.id limit 1) h
where t.n > 0
order by h.id
