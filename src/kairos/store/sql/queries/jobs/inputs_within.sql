-- inputs_within: how many of the ended jobs $1, in the order of the ids, have inputs of $2 bytes together: up to and
-- including the one that reaches $2; later ones are not read. A job that has not ended counts as empty.
-- Index: gen_durable_pkey.
with recursive taken (place, bytes) as (
  select 0, 0::bigint
  union all
  select t.place + 1, t.bytes + coalesce(g.size, 0)
  from taken t
  left join lateral (
    select octet_length(coalesce(j.input, j.state)::text) as size from kairos.gen_durable j
    where j.id = ($1::bigint[])[t.place + 1] and j.completed_at is not null
  ) g on true
  where t.place < cardinality($1::bigint[]) and t.bytes < $2::bigint
)
select max(t.place) as jobs from taken t
