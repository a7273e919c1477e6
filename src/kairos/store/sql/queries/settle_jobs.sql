-- settle_jobs: executing -> runnable, done, failed or cancelled, a batch, with its history.
-- Guard: id, lease and status; a row that comes back missing is stale. A requested cancel turns every
-- outcome that would go on into `yield`; run-ahead keeps the claim unless the TTL has closed.
-- Index: gen_durable_pkey.
with outcome as materialized (
  select * from unnest(
    $1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[],
    $8::text[], $9::text[], $10::interval[], $11::text[], $12::text[], $13::timestamptz[], $14::boolean[]
  ) as o (id, lease, verb, status, ran, attempt, step, state, result, delay, error_code, error, picked_at, ahead)
), settled as (
  update kairos.gen_durable g set
    status = (case
      when o.status <> 'runnable' then o.status
      when g.cancel_requested_at is not null then 'cancelled'
      when o.ahead and (g.expires_at is null or g.expires_at > kairos.now()) then 'executing'
      else 'runnable' end)::kairos.durable_status,
    locked_by = case
      when o.ahead and g.cancel_requested_at is null and (g.expires_at is null or g.expires_at > kairos.now())
      then g.locked_by end,
    lease_expires_at = case
      when o.ahead and g.cancel_requested_at is null and (g.expires_at is null or g.expires_at > kairos.now())
      then g.lease_expires_at end,
    completed_at = case
      when o.status <> 'runnable' or g.cancel_requested_at is not null
      then kairos.now() end,
    -- A new token for each step of a run-ahead: the same commit sent twice finds the second time stale.
    lease = case when o.ahead then g.lease + 1 else g.lease end,
    step = coalesce(o.step, g.step),
    input = case when o.state is null then g.input else coalesce(g.input, g.state) end,
    state = coalesce(o.state::jsonb, g.state),
    result = coalesce(o.result::jsonb, g.result),
    attempt = case o.verb when 'next' then 0 when 'replay' then g.attempt + 1 when 'retry' then g.attempt + 1
                          else g.attempt end,
    eligible_at = case when o.status = 'runnable' then kairos.now() + o.delay else g.eligible_at end,
    error_code = case o.verb when 'next' then null when 'done' then null else coalesce(o.error_code, g.error_code) end,
    last_error = case o.verb when 'next' then null when 'done' then null else coalesce(o.error, g.last_error) end,
    awaits = null, await_until = null, await_then = null,
    updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and g.status = 'executing'
  returning g.id, g.status, g.lease, g.partition_key
), consumed as (
  update kairos.signals s set consumed_at = kairos.now()
  where s.id = any ($15::bigint[]) and s.target_id in (select settled.id from settled)
), recorded as (
  insert into kairos.history
    (job_id, verb, from_state, to_state, step, attempt, worker, reason, started_at, at)
  select o.id, row.verb, row.from_state, row.to_state, o.ran, o.attempt, $16, row.reason, o.picked_at, kairos.now()
  from settled s
  join outcome o on o.id = s.id
  cross join lateral (values
    (1,
     case when s.status = 'cancelled' then 'yield' when o.verb = 'retry' then 'fail' else o.verb end,
     'running',
     case when s.status = 'cancelled' then 'cancelled' when o.verb = 'retry' then 'failed'
          when o.verb = 'replay' and o.delay > interval '0' then 'scheduled'
          when o.status = 'runnable' then 'pending'
          else kairos.job_state(s.status, kairos.now(), kairos.now()) end,
     o.error),
    (2, 'retry', 'failed', case when o.delay > interval '0' then 'scheduled' else 'pending' end, null)
  ) as row (part, verb, from_state, to_state, reason)
  where row.part = 1 or (o.verb = 'retry' and s.status <> 'cancelled')
  order by o.id, row.part
)
select s.id, s.status::text as status, s.lease, s.partition_key, kairos.now() as at from settled s
