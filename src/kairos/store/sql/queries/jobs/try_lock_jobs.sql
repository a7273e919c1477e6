-- try_lock_jobs: takes the row locks of a commit without waiting, and returns for each outcome whether it can be
-- written now (free), another session has locked its row or its parent's (busy), or its lease is gone (stale). $1 jobs,
-- $2 their leases, $3 the worker, $4 the job that each replies to, or null, $5 how long the rest of the transaction may
-- wait for any other lock.
-- Guard: id, lease and worker, by the snapshot: a row that another worker claimed meanwhile is returned as free or
-- busy, and is found to be stale by the statement that writes it or by the next try. Index: gen_durable_pkey.
with lock_limit as materialized (
  select set_config('lock_timeout', $5::text, true) as lock_timeout
), outcome as materialized (
  select * from unnest($1::bigint[], $2::bigint[], $4::bigint[]) as o (id, lease, parent)
), mine as materialized (
  select o.id, p.id as parent
  from outcome o
  join kairos.gen_durable g on g.id = o.id and g.lease = o.lease and g.locked_by = $3::text
  left join kairos.gen_durable p on p.id = o.parent
), locked as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any (array(select m.id from mine m union select m.parent from mine m))
    and (select p.lock_timeout from lock_limit p) is not null
  order by g.id
  for no key update skip locked
)
select o.id,
  case when m.id is null then 'stale'
       when m.id in (select l.id from locked l) and (m.parent is null or m.parent in (select l.id from locked l))
       then 'free' else 'busy' end as answer
from outcome o left join mine m on m.id = o.id
