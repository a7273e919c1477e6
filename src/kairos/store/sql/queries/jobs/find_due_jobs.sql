-- find_due_jobs: the newest $5 jobs, below id $2, that are due ($1) or scheduled for later (not $1), in queue $3 or in
-- all. At most about $4 are read, from indexes that are not in the order of ids; `too_many` says that there are more,
-- so that the jobs returned may not be the newest. Jobs of the other kind (due or not) are not read, and no more than
-- $4 pairs of queue and priority are looked at: if there are more, a row without an id says `too_many`.
-- Index: gen_durable_pick, gen_durable_queue_held.
with recursive
{waiting_lines: queue=$3; after=''; most=65536},
few_lines as materialized (
  select l.queue, l.priority from lines l limit $4::int + 1
), found as materialized (
  {jobs_in_lines: column=g.id; side=<=; most=$4::int + 1; if=$1::boolean}
  union all
  {jobs_in_lines: column=g.id; side=>; most=$4::int + 1; if=not $1::boolean}
)
(select f.id, (select count(*) > $4::int from found) as too_many
 from found f
 where $2::bigint is null or f.id < $2::bigint
 order by f.id desc
 limit $5::int)
union all
select null, true from few_lines having count(*) > $4::int
