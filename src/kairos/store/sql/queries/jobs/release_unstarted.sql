-- release_unstarted: executing -> runnable for jobs leased to a worker that never started them: the result of its pick
-- was lost, or it died first. Never waits for a lock: a job that ends here and whose reply goes to a locked job is left
-- to the reaper.
-- Guard: leased to this worker, and not among the jobs $2.
-- Index: gen_durable_lease.
with due as materialized (
  select g.id, case when g.cancel_requested_at is not null then g.reply_to end as reply_to
  from kairos.gen_durable g
  where g.status = 'executing' and g.locked_by = $1::text and g.id <> all ($2::bigint[])
  order by g.id
  for no key update skip locked
),
{lock_reply_targets},
released as (
  update kairos.gen_durable g set
    status = case when g.cancel_requested_at is null then 'runnable' else 'cancelled' end::kairos.durable_status,
    completed_at = case when g.cancel_requested_at is not null then kairos.now() end,
    locked_by = null, lease_expires_at = null, updated_at = kairos.now()
  from free where g.id = free.id
  returning g.id, g.status, g.queue, g.step, g.attempt, g.partition_key
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, reason, at)
  select r.id, case r.status when 'cancelled' then 'yield' else 'release' end, 'running',
         case r.status when 'cancelled' then 'cancelled' else 'pending' end, r.step, r.attempt, $1::text,
         'its worker never began it', kairos.now()
  from released r
)
select r.id, r.queue, r.partition_key from released r
