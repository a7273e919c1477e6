-- mark_alone: records that the step of job $1 runs alone in its worker ($4 true), or no longer does. Returns no row if
-- the lease is gone.
-- Guard: id, lease and worker.
-- Index: gen_durable_pkey.
update kairos.gen_durable g set alone_lease = case when $4::boolean then g.lease end
where g.id = $1::bigint and g.lease = $2::bigint and g.locked_by = $3::text
returning g.id
