-- read_pick_bounds: the positions from which pick_jobs_from has to read, for each priority of queue $1 that has
-- something due now or within $2: its first job (eligible_at in microseconds, and id), or one second ago if that is
-- earlier, since a transaction that is about to commit may have inserted jobs before the first one. A last row without
-- a priority has one second ago as `since`.
-- Index: gen_durable_pick, one descent per priority in use.
with recursive
{priorities_in_use: rows=kairos.gen_durable g}
select p.priority, (date_part('epoch', least(p.eligible_at, l.second_ago)) * 1000000)::bigint as since,
  case when p.eligible_at <= l.second_ago then p.id else 0 end as id
from priorities p cross join (select kairos.now() - interval '1 second' as second_ago) l
where p.eligible_at <= kairos.now() + $2::interval
union all
select null, (date_part('epoch', kairos.now() - interval '1 second') * 1000000)::bigint, 0
