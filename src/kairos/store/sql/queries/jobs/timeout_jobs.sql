-- timeout_jobs: awaiting_signal -> runnable, at the step to continue with if the job has one; `awaits` is kept, so that
-- the step can see which signals did not come.
-- Parameters: $1 limit, $2 only this job, or null, $3 jobs to leave alone.
-- Guard: now >= await_until, the complement of the wake by a signal.
-- Index: gen_durable_deadline.
with late as materialized (
  select g.id, g.step from kairos.gen_durable g
  where g.status = 'awaiting_signal' and g.await_until is not null and g.await_until <= kairos.now()
    and ($2::bigint is null or g.id = $2::bigint) and g.id <> all ($3::bigint[])
  order by g.await_until, g.id
  limit $1::int
  for no key update skip locked
), woken as (
  update kairos.gen_durable g set
    status = 'runnable', step = coalesce(g.await_then, g.step),
    attempt = case when g.await_then is null then g.attempt else 0 end,
    await_until = null, await_then = null, eligible_at = kairos.now(), updated_at = kairos.now()
  from late where g.id = late.id
  returning g.id, late.step, g.attempt, g.awaits
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, reason, at)
  select w.id, 'timeout', 'waiting', 'pending', w.step, w.attempt,
         'no signal ' || array_to_string(w.awaits, ' or ') || ' came in time', kairos.now()
  from woken w
)
select w.id from woken w
