-- count_jobs_by_id: how many of the jobs with ids $1 there are in each state.
-- Index: gen_durable_pkey.
select kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, count(*) as jobs
from kairos.gen_durable g
where g.id = any ($1::bigint[])
group by 1
