-- purge_jobs: deletes ended jobs whose retention is over, and counts them; triggers delete their signals, logs
-- and history.
-- Guard: completed_at + $1 <= now.
-- Index: gen_durable_completed.
with old as materialized (
  select g.id from kairos.gen_durable g
  where g.completed_at is not null and g.completed_at <= kairos.now() - $1::interval
  order by g.completed_at
  limit $2::int
  for update skip locked
), purged as (
  delete from kairos.gen_durable g where g.id = any (array(select old.id from old))
  returning g.status
), counted as (
  insert into kairos.purged as p (status, jobs)
  select status, count(*) from purged group by status order by status
  on conflict (status) do update set jobs = p.jobs + excluded.jobs
)
select count(*) as jobs from purged
