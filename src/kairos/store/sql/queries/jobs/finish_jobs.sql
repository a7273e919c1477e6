-- finish_jobs: executing -> done, a batch, with its history and statistics: settle_jobs for the simplest and most
-- common outcome, at two thirds of its cost. Cancel requests, TTL and signals do not affect it. Returns the ids that
-- are stale.
-- Guard: id, lease and worker. Locks in the same order as settle_jobs, and waits for a lock no longer than $5.
-- Index: gen_durable_pkey, gen_durable_replies.
with outcome as materialized (
  select * from unnest($1::text::bigint[], $2::text::bigint[], $3::text::text[]) as o (id, lease, result)
), lock_limit as materialized (
  select set_config('lock_timeout', $5::text, true) as lock_timeout
),
{lock_in_order: worker=$4::text},
settled as (
  update kairos.gen_durable g set
    status = 'done', locked_by = null, lease_expires_at = null, completed_at = kairos.now(),
    result = o.result::jsonb, error_code = null, last_error = null,
    awaits = null, await_until = null, await_then = null, updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and coalesce(g.locked_by, '') = $4::text
    and (select p.lock_timeout from lock_limit p) is not null and (select count(*) from ordered) >= 0
  returning g.id, g.fsm, g.queue, g.step, g.attempt, g.picked_at, nullif(g.eligible_at, g.picked_at) as due_at
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, started_at, at, due_at, counted)
  select s.id, 'done', 'running', 'success', s.step, s.attempt, $4::text, s.picked_at, kairos.now(), s.due_at, true
  from settled s
), counted as (
  insert into kairos.stats_deltas (fsm, queue, verb, to_state, minute, start_minute, wait, run, n)
  select s.fsm, s.queue, 'done', 'success', date_bin('1 minute', kairos.now(), 'epoch'),
    case when s.due_at is not null then date_bin('1 minute', s.picked_at, 'epoch') end,
    case when s.due_at is not null then kairos.bucket(s.picked_at - s.due_at) end,
    kairos.bucket(kairos.now() - s.picked_at), count(*)
  from settled s group by 1, 2, 6, 7, 8
)
select o.id from outcome o left join settled s on s.id = o.id where s.id is null
