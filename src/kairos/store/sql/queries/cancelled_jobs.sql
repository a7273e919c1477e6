-- cancelled_jobs: which of the jobs a worker runs were asked to stop. Index: gen_durable_pkey.
select g.id from kairos.gen_durable g
where g.id = any ($1::bigint[]) and g.status = 'executing' and g.cancel_requested_at is not null
