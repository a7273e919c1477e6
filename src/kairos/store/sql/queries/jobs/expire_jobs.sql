-- expire_jobs: runnable -> expired. Never waits for a lock: a job whose reply goes to a locked job is left for the
-- next sweep.
-- Parameters: $1 limit, $2 only this job, or null, $3 jobs to leave alone.
-- Guard: now >= expires_at, the complement of the pick's.
-- Index: gen_durable_expiry.
with due as materialized (
  select g.id, g.eligible_at, g.reply_to from kairos.gen_durable g
  where g.status = 'runnable' and g.expires_at is not null and g.expires_at <= kairos.now()
    and ($2::bigint is null or g.id = $2::bigint) and g.id <> all ($3::bigint[])
  order by g.expires_at, g.id
  limit $1::int
  for no key update skip locked
),
{lock_reply_targets},
expired as (
  update kairos.gen_durable g set
    status = 'expired', held = false, completed_at = kairos.now(), updated_at = kairos.now(),
    error_code = 'EXPIRED', last_error = 'its TTL closed at ' || g.expires_at || ' before a worker took it'
  from free where g.id = free.id
  returning g.id, g.step, g.attempt, g.partition_key, g.last_error, free.eligible_at
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, reason, at)
  select e.id, 'expire', kairos.job_state('runnable', e.eligible_at, kairos.now()), 'expired',
         e.step, e.attempt, e.last_error, kairos.now()
  from expired e
)
select e.id, e.partition_key from expired e
