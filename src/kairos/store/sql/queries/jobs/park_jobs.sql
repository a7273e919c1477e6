-- park_jobs: executing -> awaiting_signal, a batch, with its history. recheck_inbox must follow in the same
-- transaction.
-- Guard: id, lease and worker, as in settle_jobs; a cancel request turns the park into `yield`.
-- Index: gen_durable_pkey.
with outcome as materialized (
  select * from unnest(
    $1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::int[], $5::text::text[], $6::text::text[],
    $7::text::bigint[], $8::text::text[], $11::text::text[], $12::text::text[], $13::text::boolean[]
  ) as o (id, lease, ran, attempt, state, awaits, timeout, await_then, error, progress, keep)
), parked as (
  update kairos.gen_durable g set
    status = case when g.cancel_requested_at is null then 'awaiting_signal' else 'cancelled' end
      ::kairos.durable_status,
    completed_at = case when g.cancel_requested_at is not null then kairos.now() end,
    locked_by = null, lease_expires_at = null,
    awaits = o.awaits::text[],
    await_until = kairos.now() + o.timeout * interval '1 microsecond', await_then = o.await_then,
    input = case when o.state is null then g.input else coalesce(g.input, g.state) end,
    state = coalesce(o.state::jsonb, g.state),
    progress = coalesce(o.progress::jsonb, g.progress),
    reaps = 0,
    updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and coalesce(g.locked_by, '') = $10
  returning g.id, g.status, g.partition_key, o.ran, o.attempt, o.error, g.cancel_reason, g.picked_at,
    nullif(g.eligible_at, g.picked_at) as due_at, case when o.keep then g.state end as state
),
{consume_signals: signals=$9; jobs=parked},
recorded as (
  insert into kairos.history
    (job_id, verb, from_state, to_state, step, attempt, worker, reason, started_at, at, due_at, state)
  select p.id, case when p.status = 'cancelled' then 'yield' else 'await' end, 'running',
         case when p.status = 'cancelled' then 'cancelled' else 'waiting' end,
         p.ran, p.attempt, $10, case when p.status = 'cancelled' then coalesce(p.cancel_reason, p.error) else p.error end,
         p.picked_at, kairos.now(), p.due_at, p.state
  from parked p
)
select p.id, p.status::text as status, p.partition_key from parked p
