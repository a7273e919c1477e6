-- reap_jobs: executing -> runnable (attempt + 1) where the lease expired, or where its worker is known dead;
-- -> failed once it was lost more often than max_reaps allows. `handle` is not called.
-- Guard: lease_expires_at <= now, the complement of renew_leases. Its time stays, and so does its place in the line.
-- Index: gen_durable_lease.
-- $1 limit, $2 the dead worker or null, $3 who reaps.
-- Never waits: a job that ends here and whose reply goes to one that is in use is left for the next sweep.
with due as materialized (
  select g.id, g.locked_by,
    case when g.cancel_requested_at is not null or g.reaps >= g.max_reaps then g.reply_to end as reply_to
  from kairos.gen_durable g
  where g.status = 'executing'
    and g.lease_expires_at <= case when $2::text is null then kairos.now() else 'infinity' end
    and ($2::text is null or g.locked_by = $2::text)
  order by g.lease_expires_at
  limit $1::int
  for no key update skip locked
), parents as materialized (
  select p.id from kairos.gen_durable p
  where p.id = any (array(select due.reply_to from due where due.reply_to is not null))
  for no key update skip locked
), lost as (
  select due.id, due.locked_by from due
  where due.reply_to is null or due.reply_to in (select parents.id from parents)
    or not exists (select from kairos.gen_durable p where p.id = due.reply_to)
), reaped as (
  update kairos.gen_durable g set
    status = case when g.cancel_requested_at is not null then 'cancelled'
                  when g.reaps >= g.max_reaps then 'failed' else 'runnable' end::kairos.durable_status,
    completed_at = case when g.cancel_requested_at is not null or g.reaps >= g.max_reaps then kairos.now() end,
    error_code = case when g.reaps >= g.max_reaps then 'WORKER_LOST' else g.error_code end,
    last_error = case when g.reaps >= g.max_reaps
      then 'its worker was lost ' || (g.reaps + 1) || ' times while running step ' || g.step else g.last_error end,
    attempt = g.attempt + 1, reaps = g.reaps + 1,
    locked_by = null, lease_expires_at = null, updated_at = kairos.now()
  from lost where g.id = lost.id
  returning g.id, g.status, g.queue, g.step, g.attempt, g.partition_key, g.last_error, lost.locked_by, g.picked_at,
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
select r.id, r.status::text as status, r.queue, r.partition_key from reaped r
