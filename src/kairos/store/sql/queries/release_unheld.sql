-- release_unheld: executing -> runnable for rows leased to a worker that never began them: the answer to its pick
-- was lost, or it died first. Guard: the worker's own name and not among the jobs $2. Index: gen_durable_lease.
-- Never waits: a job that ends here and whose reply goes to one that is in use is left to the reaper.
with due as materialized (
  select g.id, case when g.cancel_requested_at is not null then g.reply_to end as reply_to
  from kairos.gen_durable g
  where g.status = 'executing' and g.locked_by = $1::text and g.id <> all ($2::bigint[])
  order by g.id
  for no key update skip locked
), parents as materialized (
  select p.id from kairos.gen_durable p
  where p.id = any (array(select due.reply_to from due where due.reply_to is not null))
  for no key update skip locked
), stray as (
  select due.id from due
  where due.reply_to is null or due.reply_to in (select parents.id from parents)
    or not exists (select from kairos.gen_durable p where p.id = due.reply_to)
), released as (
  update kairos.gen_durable g set
    status = case when g.cancel_requested_at is null then 'runnable' else 'cancelled' end::kairos.durable_status,
    completed_at = case when g.cancel_requested_at is not null then kairos.now() end,
    locked_by = null, lease_expires_at = null, updated_at = kairos.now()
  from stray where g.id = stray.id
  returning g.id, g.status, g.queue, g.step, g.attempt, g.partition_key
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, reason, at)
  select r.id, case r.status when 'cancelled' then 'yield' else 'release' end, 'running',
         case r.status when 'cancelled' then 'cancelled' else 'pending' end, r.step, r.attempt, $1::text,
         'its worker never began it', kairos.now()
  from released r
)
select r.id, r.queue, r.partition_key from released r
