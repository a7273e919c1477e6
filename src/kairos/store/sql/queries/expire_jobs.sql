-- expire_jobs: runnable -> expired.
-- Guard: now >= expires_at, the complement of the pick's. Index: gen_durable_expiry.
-- Never waits: a job whose reply goes to one that is in use is left for the next sweep.
with due as materialized (
  select g.id, g.eligible_at, g.reply_to from kairos.gen_durable g
  where g.status = 'runnable' and g.expires_at is not null and g.expires_at <= kairos.now()
  order by g.expires_at, g.id
  limit $1::int
  for no key update skip locked
), parents as materialized (
  select p.id from kairos.gen_durable p
  where p.id = any (array(select due.reply_to from due where due.reply_to is not null))
  for no key update skip locked
), closed as (
  select due.id, due.eligible_at from due
  where due.reply_to is null or due.reply_to in (select parents.id from parents)
    or not exists (select from kairos.gen_durable p where p.id = due.reply_to)
), expired as (
  update kairos.gen_durable g set
    status = 'expired', held = false, completed_at = kairos.now(), updated_at = kairos.now(),
    error_code = 'EXPIRED', last_error = 'its TTL closed at ' || g.expires_at || ' before a worker took it'
  from closed where g.id = closed.id
  returning g.id, g.step, g.attempt, g.partition_key, g.last_error, closed.eligible_at
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, reason, at)
  select e.id, 'expire', kairos.job_state('runnable', e.eligible_at, kairos.now()), 'expired',
         e.step, e.attempt, e.last_error, kairos.now()
  from expired e
)
select e.id, e.partition_key from expired e
