-- reap_jobs: executing -> runnable (attempt + 1) if the lease expired or the worker is known to be dead; -> failed once
-- the present step was lost more often than max_reaps allows and ran alone in its worker the last time, or was lost
-- four times as often; at once if max_reaps is 0. The machine's `handle` is not called. The job keeps its eligible_at,
-- and so its place among the jobs of its key. Never waits for a lock: a job that ends here and whose reply goes to a
-- locked job is left for the next sweep.
-- Parameters: $1 limit, $2 the dead worker or null, $3 the actor, $4 only this job, or null, $5 jobs to leave alone.
-- Guard: lease_expires_at <= now, the complement of renew_leases.
-- Index: gen_durable_lease.
with due as materialized (
  select g.id, g.locked_by, v.guilty,
    case when g.cancel_requested_at is not null or v.guilty then g.reply_to end as reply_to
  from kairos.gen_durable g
  cross join lateral (values (
    g.reaps >= g.max_reaps and (g.max_reaps = 0 or g.reaps >= 4 * g.max_reaps or coalesce(g.alone_lease = g.lease, false))
  )) as v (guilty)
  where g.status = 'executing'
    and g.lease_expires_at <= case when $2::text is null then kairos.now() else 'infinity' end
    and ($2::text is null or g.locked_by = $2::text)
    and ($4::bigint is null or g.id = $4::bigint)
    and g.id <> all ($5::bigint[])
  order by g.lease_expires_at
  limit $1::int
  for no key update of g skip locked
),
{lock_reply_targets},
reaped as (
  update kairos.gen_durable g set
    status = case when g.cancel_requested_at is not null then 'cancelled'
                  when free.guilty then 'failed' else 'runnable' end::kairos.durable_status,
    completed_at = case when g.cancel_requested_at is not null or free.guilty then kairos.now() end,
    error_code = case when free.guilty then 'WORKER_LOST' else g.error_code end,
    last_error = case when free.guilty
      then 'its worker was lost ' || (g.reaps + 1) || ' times while running step ' || g.step else g.last_error end,
    -- As kairos.worker.error_groups makes it.
    error_group = case when g.cancel_requested_at is null and free.guilty then
      left(encode(sha256(convert_to(g.fsm || chr(31) || 'WORKER_LOST' || chr(31), 'UTF8')), 'hex'), 16) end,
    attempt = g.attempt + 1, reaps = g.reaps + 1,
    locked_by = null, lease_expires_at = null, updated_at = kairos.now()
  from free where g.id = free.id
  returning g.id, g.lease, g.status, g.queue, g.step, g.attempt, g.partition_key, g.last_error, free.locked_by, g.picked_at,
    nullif(g.eligible_at, g.picked_at) as due_at
), recorded as (
  insert into kairos.history
    (job_id, verb, from_state, to_state, step, attempt, worker, actor, reason, started_at, at, due_at)
  select r.id, row.verb, 'running', row.to_state, r.step, r.attempt - 1, r.locked_by, $3, row.reason, r.picked_at,
         kairos.now(), r.due_at
  from reaped r
  cross join lateral (values (
    case r.status when 'failed' then 'stop' when 'cancelled' then 'yield' else 'reap' end,
    case r.status when 'failed' then 'failed' when 'cancelled' then 'cancelled' else 'pending' end,
    case r.status when 'failed' then r.last_error when 'cancelled' then 'its worker was lost after a cancel request'
      else 'its worker was lost' end
  )) as row (verb, to_state, reason)
)
select r.id, r.lease, r.status::text as status, r.queue, r.partition_key from reaped r
