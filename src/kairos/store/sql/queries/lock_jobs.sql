-- lock_jobs: takes the row locks of a commit that touches other jobs too, always in the order of ids.
-- Index: gen_durable_pkey.
select g.id from kairos.gen_durable g where g.id = any ($1::bigint[]) order by g.id for no key update
