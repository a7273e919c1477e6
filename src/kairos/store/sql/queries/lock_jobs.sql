-- lock_jobs: takes the row locks of a commit in the order of ids: the worker's own jobs ($1, $2 their leases), and
-- those they reply to ($4). A stale one is left alone: it is someone else's. Index: gen_durable_pkey.
with wanted as materialized (
  select o.id from unnest($1::bigint[], $2::bigint[]) as o (id, lease)
  join kairos.gen_durable m on m.id = o.id and m.lease = o.lease and m.locked_by = $3::text
  union
  select unnest($4::bigint[])
)
select g.id from kairos.gen_durable g
where g.id = any (array(select wanted.id from wanted))
order by g.id
for no key update
