-- pick_known_jobs: runnable -> executing, one queue that workers with different actions share: like pick_jobs, but
-- reads only jobs of the actions $6 in the versions $7. It first decides how many jobs to take of each action and
-- priority, by the order of all of them together, and then takes them action by action, skipping locked rows. $8 has
-- the known arguments of some machines, by action@version: their jobs with other arguments are not taken (decision
-- 0086).
-- Guard: as pick_jobs.
-- Index: gen_durable_pick_action. Actions are compared as rows: by equality the planner may prefer gen_durable_pick,
-- and read the jobs of all other actions.
with recursive
{queue_gate},
lines as (
  select k.fsm, k.version, n.priority, n.eligible_at
  from gate, unnest($6::text[], $7::int[]) as k (fsm, version)
  cross join lateral (
    select g.priority, g.eligible_at from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held
      and (g.fsm, g.fsm_version) >= (k.fsm, k.version) and (g.fsm, g.fsm_version) <= (k.fsm, k.version)
    order by g.fsm, g.fsm_version, g.priority, g.eligible_at limit 1
  ) n
  union all
  select l.fsm, l.version, n.priority, n.eligible_at from lines l
  cross join lateral (
    select g.priority, g.eligible_at from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held
      and (g.fsm, g.fsm_version, g.priority) > (l.fsm, l.version, l.priority)
      and (g.fsm, g.fsm_version) <= (l.fsm, l.version)
    order by g.fsm, g.fsm_version, g.priority, g.eligible_at limit 1
  ) n
), heads as materialized (
  select l.fsm, l.version, l.priority
  from lines l
  cross join lateral (
    select g.id, g.eligible_at from kairos.gen_durable g
    {due_jobs_of_line: line=l}
    limit $2::int
  ) c
  where l.eligible_at <= kairos.now()
  order by l.priority, c.eligible_at, c.id
  limit $2::int
), shares as materialized (
  select h.fsm, h.version, h.priority, count(*) as jobs from heads h group by 1, 2, 3
), due as materialized (
  select c.ctid as place, c.id, c.partition_key, c.fsm, c.fsm_version, c.priority, c.eligible_at, true as known
  from shares s
  cross join lateral (
    select g.ctid, g.id, g.partition_key, g.fsm, g.fsm_version, g.priority, g.eligible_at from kairos.gen_durable g
    {due_jobs_of_line: line=s}
    limit s.jobs
    for no key update skip locked
  ) c
),
{claim_due_jobs}
