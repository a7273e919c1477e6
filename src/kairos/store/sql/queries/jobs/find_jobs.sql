-- find_jobs: the ids of those of the jobs $1 that exist.
-- Index: gen_durable_pkey.
select g.id from kairos.gen_durable g where g.id = any ($1::bigint[])
