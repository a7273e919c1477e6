-- pick_jobs: runnable -> executing, one queue: claims jobs without a key and returns those with a key as candidates.
-- Rows without a lease are not claimed: candidates, and jobs of an action and version that are not among $6 and $7
-- (null: all are known). The latter tell the picker that workers with other actions share the queue.
-- Guard: eligible_at <= now < expires_at; nothing from a paused queue, and from a limited one only as many as were
-- admitted.
-- Index: gen_durable_pick. Priorities are found by a skip scan, so that jobs that are not due are not read.
with recursive
{queue_gate},
{priorities_in_use: rows=gate, kairos.gen_durable g},
due as materialized (
  select c.ctid as place, c.id, c.partition_key, c.fsm, c.fsm_version, c.priority, c.eligible_at,
    $6::text[] is null
    or (c.fsm, c.fsm_version) in (select k.fsm, k.version from unnest($6::text[], $7::int[]) as k (fsm, version)) as known
  from priorities p
  cross join lateral (
    select g.ctid, g.id, g.partition_key, g.fsm, g.fsm_version, g.priority, g.eligible_at from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority = p.priority
      and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at, g.id
    limit $2::int
    for no key update skip locked
  ) c
  where p.eligible_at <= kairos.now()
  limit $2::int
),
{claim_due_jobs}
