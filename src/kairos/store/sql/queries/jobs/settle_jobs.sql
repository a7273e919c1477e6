-- settle_jobs: executing -> runnable, done, failed or cancelled, a batch, with its history. A job without a row in the
-- result is stale. A cancel request turns every outcome that would continue into `yield`; run-ahead keeps the claim
-- unless the TTL has passed.
-- Guard: id, lease and worker (locked_by is set iff executing). With the status in the condition the planner may walk
-- the dead entries of gen_durable_lease; with a bare locked_by it expects one row and loops over the batch. It waits
-- for a locked row no longer than $18; then nothing of the batch is written, and try_lock_jobs finds out which rows are
-- free.
-- Index: gen_durable_pkey, gen_durable_replies.
with outcome as materialized (
  select o.*, o.verb in ('next', 'replay', 'retry', 'release') as goes_on
  from unnest(
    $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::int[], $6::text::text[],
    $7::text::text[], $8::text::text[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::boolean[],
    $15::text::bigint[], $16::text::bigint[], $17::text::text[], $19::text::text[], $20::text::text[], $21::text::boolean[]
  ) as o (id, lease, verb, ran, attempt, step, state, result, delay, error_code, error, ahead, picked, due, progress,
    error_group, error_frame, keep)
), lock_limit as materialized (
  select set_config('lock_timeout', $18::text, true) as lock_timeout
),
{lock_in_order: worker=$14},
settled as (
  update kairos.gen_durable g set
    status = (case
      when o.verb = 'done' then 'done'
      when o.verb = 'stop' then 'failed'
      when o.verb = 'yield' or g.cancel_requested_at is not null then 'cancelled'
      when o.ahead and (g.expires_at is null or g.expires_at > kairos.now()) then 'executing'
      else 'runnable' end)::kairos.durable_status,
    locked_by = case
      when o.ahead and g.cancel_requested_at is null and (g.expires_at is null or g.expires_at > kairos.now())
      then g.locked_by end,
    lease_expires_at = case
      when o.ahead and g.cancel_requested_at is null and (g.expires_at is null or g.expires_at > kairos.now())
      then g.lease_expires_at end,
    completed_at = case when not o.goes_on or g.cancel_requested_at is not null then kairos.now() end,
    -- A new token for each step of a run-ahead: the same commit sent twice finds the second time stale.
    lease = case when o.ahead then g.lease + 1 else g.lease end,
    step = coalesce(o.step, g.step),
    input = case when o.state is null then g.input else coalesce(g.input, g.state) end,
    state = coalesce(o.state::jsonb, g.state),
    result = coalesce(o.result::jsonb, g.result),
    progress = coalesce(o.progress::jsonb, g.progress),
    attempt = case o.verb when 'next' then 0 when 'replay' then g.attempt + 1 when 'retry' then g.attempt + 1
                          else g.attempt end,
    -- `reaps` counts the losses since the job last completed a run.
    reaps = case when o.verb in ('next', 'replay', 'retry') then 0 else g.reaps end,
    -- A job that is released without a delay keeps its eligible_at, and so its place in the queue.
    eligible_at = case when o.goes_on and (o.verb <> 'release' or o.delay > 0)
      then kairos.now() + coalesce(o.delay, 0) * interval '1 microsecond' else g.eligible_at end,
    error_code = case o.verb when 'next' then null when 'done' then null else coalesce(o.error_code, g.error_code) end,
    last_error = case o.verb when 'next' then null when 'done' then null when 'release' then g.last_error
                             else coalesce(o.error, g.last_error) end,
    error_group = o.error_group, error_frame = o.error_frame,
    awaits = null, await_until = null, await_then = null,
    picked_at = case when o.ahead then kairos.now() else g.picked_at end,
    updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and coalesce(g.locked_by, '') = $14
    and (select p.lock_timeout from lock_limit p) is not null and (select count(*) from ordered) >= 0
  returning g.id, g.status, g.lease, g.partition_key,
    o.verb, o.goes_on, o.ran, o.attempt, o.delay, o.error, g.cancel_reason,
    timestamptz 'epoch' + o.due * interval '1 microsecond' as due_at, case when o.keep then g.state end as state,
    coalesce(timestamptz 'epoch' + o.picked * interval '1 microsecond', g.picked_at) as picked_at
),
{consume_signals: signals=$13; jobs=settled},
recorded as (
  insert into kairos.history
    (job_id, verb, from_state, to_state, step, attempt, worker, reason, started_at, at, due_at, state)
  select s.id,
    case when s.status = 'cancelled' then 'yield' when s.verb = 'retry' then 'fail' else s.verb end,
    'running',
    case when s.status = 'cancelled' then 'cancelled' when s.verb = 'retry' then 'failed'
         when not s.goes_on then kairos.job_state(s.status, s.picked_at, s.picked_at)
         when s.verb = 'replay' then 'scheduled' else 'pending' end,
    s.ran, s.attempt, $14, case when s.status = 'cancelled' then coalesce(s.cancel_reason, s.error) else s.error end,
    s.picked_at, kairos.now(), s.due_at, s.state
  from settled s
  -- A job may be released for the same reason again and again, such as an unknown action: recorded once.
  where s.verb <> 'release' or s.error is distinct from (
    select h.reason from kairos.history h where h.job_id = s.id order by h.id desc limit 1)
  union all
  -- An automatic retry passes through `failed` inside this commit: this is its second row.
  select s.id, 'retry', 'failed', 'scheduled',
    s.ran, s.attempt, $14, null, null, kairos.now(), null, null
  from settled s
  where s.verb = 'retry' and s.status <> 'cancelled'
)
select s.id, s.status::text as status, s.lease, s.partition_key,
  (date_part('epoch', kairos.now()) * 1000000)::bigint as picked
from settled s
