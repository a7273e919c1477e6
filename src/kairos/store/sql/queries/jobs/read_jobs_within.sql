-- read_jobs_within: jobs by id, in the order of the ids, up to and including the one that brings their size to $2
-- bytes: at least one; later ones are not read. `place` is the job's place among the ids, `bytes` the sum of sizes up
-- to it.
-- Index: gen_durable_pkey.
with recursive taken (place, id, bytes) as (
  select 0, null::bigint, 0::bigint
  union all
  select t.place + 1, g.id, t.bytes + coalesce(g.size, 0)
  from taken t
  left join lateral (
    select j.id, 500 + octet_length(coalesce(j.input, j.state)::text) + octet_length(j.state::text)
      + coalesce(octet_length(j.result::text), 0) + coalesce(octet_length(j.last_error), 0)
      + coalesce(octet_length(j.progress::text), 0) as size
    from kairos.gen_durable j where j.id = ($1::bigint[])[t.place + 1]
  ) g on true
  where t.place < cardinality($1::bigint[]) and t.bytes < $2::bigint
)
select t.place, t.bytes,
  {job_columns: whole=true}
from taken t
cross join lateral (select * from kairos.gen_durable j where j.id = t.id limit 1) g
order by t.place
