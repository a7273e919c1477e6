-- purge_jobs: deletes ended jobs whose retention is over, oldest first, and counts them; triggers delete their signals,
-- logs and history. It begins at the completion time $3 (null: at the oldest), and `upto` is that of the last job it
-- deleted.
-- Guard: completed_at + $1 <= now.
-- Index: gen_durable_completed.
with old as materialized (
  select g.id, g.completed_at from kairos.gen_durable g
  where g.completed_at >= coalesce($3::timestamptz, '-infinity') and g.completed_at <= kairos.now() - $1::interval
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
select count(*) as jobs, (select max(old.completed_at) from old) as upto from purged
