-- lock_in_order: locks the rows of `outcome` that worker {worker} has leased, in the order of ids, if that is needed.
-- The statement sets in `lock_limit` how long it waits for a lock.
ordered as materialized (
  -- If jobs reply to others, or a schedule cancels its own jobs, two commits may need the same rows: then all lock
  -- them in the order of ids. This check costs two lookups a batch; the locks would add a fifth to its cost.
  select g.id from outcome o join kairos.gen_durable g on g.id = o.id
  where g.lease = o.lease and coalesce(g.locked_by, '') = {worker}
    and ((select r.reply_to from kairos.gen_durable r where r.reply_to is not null and r.completed_at is null
          order by r.reply_to limit 1) is not null
         or exists (select from kairos.schedules s where s.overlap = 'cancel'))
    and (select p.lock_timeout from lock_limit p) is not null
  order by g.id
  for no key update of g
)
