-- lock_jobs: locks the rows of a commit in the order of ids: the worker's own jobs ($1, with leases $2) and the jobs
-- they reply to ($4). Jobs whose lease is stale are not locked.
-- A row that another session has locked is waited for no longer than $5, here and in the rest of the transaction.
-- Index: gen_durable_pkey.
with lock_limit as materialized (
  select set_config('lock_timeout', $5::text, true) as lock_timeout
), wanted as materialized (
  select o.id from unnest($1::bigint[], $2::bigint[]) as o (id, lease)
  join kairos.gen_durable m on m.id = o.id and m.lease = o.lease and m.locked_by = $3::text
  union
  select unnest($4::bigint[])
)
select g.id from kairos.gen_durable g
where g.id = any (array(select wanted.id from wanted)) and (select p.lock_timeout from lock_limit p) is not null
order by g.id
for no key update
