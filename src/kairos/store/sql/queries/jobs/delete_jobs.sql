-- delete_jobs: deletes ended jobs by id, and counts them as purged; triggers delete their signals, logs and
-- history. Live jobs are returned unchanged.
-- Guard: completed_at is set.
-- Index: gen_durable_pkey.
with target as materialized (
  select g.id, g.completed_at, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state
  from kairos.gen_durable g where g.id = any ($1::bigint[])
  order by g.id
  for update
), gone as (
  delete from kairos.gen_durable g
  where g.id = any (array(select t.id from target t where t.completed_at is not null))
  returning g.status
), counted as (
  insert into kairos.purged as p (status, jobs)
  select status, count(*) from gone group by status order by status
  on conflict (status) do update set jobs = p.jobs + excluded.jobs
)
select t.id, t.state, t.completed_at is not null as done from target t
