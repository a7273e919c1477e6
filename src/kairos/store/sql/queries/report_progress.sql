-- report_progress: how far running jobs have come; answers those whose row is in use just now, to be told again.
-- Guard: id and lease. Never waits, since the outcomes of the same jobs may be on their way. Index: gen_durable_pkey.
with report as materialized (
  select p.id, p.lease, p.progress from unnest($1::bigint[], $2::bigint[], $3::text[]) as p (id, lease, progress)
), mine as materialized (
  select g.id, p.progress from report p join kairos.gen_durable g on g.id = p.id and g.lease = p.lease
  where g.locked_by is not null
  for no key update of g skip locked
), told as (
  update kairos.gen_durable g set progress = mine.progress::jsonb from mine where g.id = mine.id
)
select p.id from report p join kairos.gen_durable g on g.id = p.id and g.lease = p.lease
where g.locked_by is not null and p.id not in (select mine.id from mine)
