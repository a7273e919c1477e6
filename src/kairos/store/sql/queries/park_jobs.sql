-- park_jobs: executing -> awaiting_signal, a batch, with its history.
-- Guard: id, lease and status; a requested cancel turns the park into `yield`. Index: gen_durable_pkey.
-- recheck_inbox must follow in the same transaction.
with outcome as materialized (
  select * from unnest(
    $1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::text[], $6::text[], $7::interval[], $8::text[],
    $9::timestamptz[]
  ) as o (id, lease, ran, attempt, state, awaits, timeout, await_then, picked_at)
), parked as (
  update kairos.gen_durable g set
    status = case when g.cancel_requested_at is null then 'awaiting_signal' else 'cancelled' end
      ::kairos.durable_status,
    completed_at = case when g.cancel_requested_at is not null then kairos.now() end,
    locked_by = null, lease_expires_at = null,
    awaits = array(select jsonb_array_elements_text(o.awaits::jsonb)),
    await_until = kairos.now() + o.timeout, await_then = o.await_then,
    input = case when o.state is null then g.input else coalesce(g.input, g.state) end,
    state = coalesce(o.state::jsonb, g.state),
    updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and g.status = 'executing'
  returning g.id, g.status, g.partition_key
), consumed as (
  update kairos.signals s set consumed_at = kairos.now()
  where s.id = any ($10::bigint[]) and s.target_id in (select parked.id from parked)
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, reason, started_at, at)
  select o.id, case when p.status = 'cancelled' then 'yield' else 'await' end, 'running',
         case when p.status = 'cancelled' then 'cancelled' else 'waiting' end,
         o.ran, o.attempt, $11, null, o.picked_at, kairos.now()
  from parked p join outcome o on o.id = p.id
)
select p.id, p.status::text as status, p.partition_key from parked p
