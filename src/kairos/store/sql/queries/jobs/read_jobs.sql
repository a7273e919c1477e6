-- read_jobs: jobs by id, with every field that clients see.
-- Index: gen_durable_pkey.
select
  {job_columns: whole=true}
from kairos.gen_durable g
where g.id = any ($1::bigint[])
order by g.id
