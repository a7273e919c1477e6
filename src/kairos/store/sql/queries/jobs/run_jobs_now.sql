-- run_jobs_now: scheduled -> pending, a batch.
-- Guard: runnable and not yet due.
-- Index: gen_durable_pkey.
with target as materialized (
  select g.id, g.status, g.eligible_at, g.queue, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state
  from kairos.gen_durable g where g.id = any ($1::bigint[])
  order by g.id
  for no key update
), moved as (
  update kairos.gen_durable g set eligible_at = kairos.now(), updated_at = kairos.now()
  from target t where g.id = t.id and t.status = 'runnable' and t.eligible_at > kairos.now()
  returning g.id, g.step, g.attempt
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, actor, reason, at)
  select m.id, 'run_now', 'scheduled', 'pending', m.step, m.attempt, $2::text, null, kairos.now() from moved m
)
select t.id, t.queue, t.state, m.id is not null as done from target t left join moved m on m.id = t.id
