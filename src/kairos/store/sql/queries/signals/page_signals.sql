-- page_signals: signals of one job after signal $2, in order: at most $3 and about $4 bytes, but at least one; payloads
-- beyond the limit are not read. `bytes` is the sum of sizes up to a signal. The ids of the page are selected first: in
-- the other order a plan might search the signals of all jobs.
-- Index: signals_target_id_dedup_key_key.
with recursive page as materialized (
  select array(
    select o.id from (select o.id from kairos.signals o where o.target_id = $1::bigint offset 0) o
    where o.id > $2::bigint order by o.id limit $3::int) as ids
), taken (place, id, bytes) as (
  select 0, null::bigint, 0::bigint
  union all
  select t.place + 1, s.id, t.bytes + coalesce(s.size, 0)
  from taken t
  cross join page p
  left join lateral (
    select o.id, 200 + octet_length(o.payload::text) as size from kairos.signals o where o.id = p.ids[t.place + 1]
  ) s on true
  where t.place < cardinality(p.ids) and t.bytes < $4::bigint
)
select s.id, s.name, s.payload::text as payload, s.dedup_key, s.inserted_at, s.consumed_at, t.bytes
from taken t
cross join lateral (select * from kairos.signals o where o.id = t.id limit 1) s
order by s.id
