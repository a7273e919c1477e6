-- finish_jobs: executing -> done, a batch, with its history: settle_jobs for the plainest and commonest outcome,
-- at two thirds of its price. No cancel request, TTL or signal has a say in it.
-- Guard: id, lease and worker, with the order of locks of settle_jobs. Index: gen_durable_pkey, gen_durable_replies.
with outcome as materialized (
  select * from unnest($1::text::bigint[], $2::text::bigint[], $3::text::text[]) as o (id, lease, result)
), ordered as materialized (
  select g.id from outcome o join kairos.gen_durable g on g.id = o.id
  where g.lease = o.lease and coalesce(g.locked_by, '') = $4::text
    and (exists (select from kairos.gen_durable r where r.reply_to is not null and r.completed_at is null)
         or exists (select from kairos.schedules s where s.overlap = 'cancel'))
  order by g.id
  for no key update of g
), settled as (
  update kairos.gen_durable g set
    status = 'done', locked_by = null, lease_expires_at = null, completed_at = kairos.now(),
    result = o.result::jsonb, error_code = null, last_error = null,
    awaits = null, await_until = null, await_then = null, updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and coalesce(g.locked_by, '') = $4::text
    and (select count(*) from ordered) >= 0
  returning g.id, g.status, g.lease, g.partition_key, g.step, g.attempt, g.picked_at,
    nullif(g.eligible_at, g.picked_at) as due_at
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, started_at, at, due_at)
  select s.id, 'done', 'running', 'success', s.step, s.attempt, $4::text, s.picked_at, kairos.now(), s.due_at
  from settled s
)
select s.id, s.status::text as status, s.lease, s.partition_key from settled s
