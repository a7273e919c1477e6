-- lock_job: waits for the lock of one job's row, only to find out for whom (find_blockers). Index: gen_durable_pkey.
select g.id from kairos.gen_durable g where g.id = $1::bigint for no key update
