-- report_progress: stores the progress of jobs that worker $4 runs; returns those whose row is locked, to be reported
-- again. Never waits, because the outcomes of the same jobs may be in the middle of a commit.
-- Guard: id, lease and worker: the same lease may be given twice if Postgres crashed after a claim.
-- Index: gen_durable_pkey.
with report as materialized (
  select p.id, p.lease, p.progress from unnest($1::bigint[], $2::bigint[], $3::text[]) as p (id, lease, progress)
), mine as materialized (
  select g.id, p.progress from report p join kairos.gen_durable g on g.id = p.id and g.lease = p.lease
  where g.locked_by = $4::text
  for no key update of g skip locked
), told as (
  update kairos.gen_durable g set progress = mine.progress::jsonb from mine where g.id = mine.id
)
select p.id from report p join kairos.gen_durable g on g.id = p.id and g.lease = p.lease
where g.locked_by = $4::text and p.id not in (select mine.id from mine)
