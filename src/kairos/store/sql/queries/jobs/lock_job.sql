-- lock_job: waits for the lock of one job's row, so that find_blockers can see which session holds it. Index:
-- gen_durable_pkey.
select g.id from kairos.gen_durable g where g.id = $1::bigint for no key update
