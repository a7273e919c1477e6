-- edit_job: changes how a runnable job is scheduled; $2 lists the changed fields ('priority', 'queue', 'tags',
-- 'run_at', 'ttl', 'expires_at'). Setting run_at to now or earlier is a run_now: scheduled -> pending.
-- Guard: runnable. A due job cannot be postponed here: that is snooze_jobs.
-- Index: gen_durable_pkey.
with target as materialized (
  select g.id, g.status, g.eligible_at, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state
  from kairos.gen_durable g where g.id = $1::bigint
  for no key update
), edited as (
  update kairos.gen_durable g set
    priority = case when 'priority' = any ($2::text[]) then $3::smallint else g.priority end,
    queue = case when 'queue' = any ($2::text[]) then $4::text else g.queue end,
    tags = case when 'tags' = any ($2::text[]) then $5::text[] else g.tags end,
    eligible_at = case when 'run_at' = any ($2::text[]) then $6::timestamptz else g.eligible_at end,
    ttl = case when 'ttl' = any ($2::text[]) then $7::interval
               when 'expires_at' = any ($2::text[]) then $8::timestamptz - coalesce($6::timestamptz, g.eligible_at)
               else g.ttl end,
    -- A TTL counts from the time at which the job is due, so expires_at moves with it.
    expires_at = case
      when 'expires_at' = any ($2::text[]) then $8::timestamptz
      when 'ttl' = any ($2::text[]) then coalesce($6::timestamptz, g.eligible_at) + $7::interval
      when 'run_at' = any ($2::text[]) then $6::timestamptz + g.ttl
      else g.expires_at end,
    updated_at = kairos.now()
  from target t
  where g.id = t.id and t.status = 'runnable'
    and ($6::timestamptz is null or $6::timestamptz <= kairos.now() or t.eligible_at > kairos.now())
  returning g.id, g.step, g.attempt, g.eligible_at
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, actor, reason, at)
  select e.id, 'run_now', 'scheduled', 'pending', e.step, e.attempt, $9::text, null, kairos.now()
  from edited e join target t on t.id = e.id
  where t.state = 'scheduled' and e.eligible_at <= kairos.now()
)
select t.id, t.state, e.id is not null as done,
       case when t.status = 'runnable' and e.id is null then 'it is due already, and only a snooze puts it off' end as why
from target t left join edited e on e.id = t.id
