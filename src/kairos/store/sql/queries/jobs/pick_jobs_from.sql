-- pick_jobs_from: runnable -> executing, one queue: like pick_jobs, but reads each of the priorities $8 only from the
-- position of one job on, given by its eligible_at $9 (microseconds) and id $10. So it skips the dead entries that a
-- long snapshot keeps in the index, and priorities with nothing due. read_pick_bounds returns the positions; the next
-- pick_jobs finds jobs before them.
-- Guard: as pick_jobs.
-- Index: gen_durable_pick.
with
{queue_gate},
due as materialized (
  select c.ctid as place, c.id, c.partition_key, c.fsm, c.fsm_version, c.priority, c.eligible_at,
    $6::text[] is null
    or (c.fsm, c.fsm_version) in (select k.fsm, k.version from unnest($6::text[], $7::int[]) as k (fsm, version)) as known
  from (
    select b.priority, timestamptz 'epoch' + b.since * interval '1 microsecond' as since, b.id
    from gate, unnest($8::smallint[], $9::bigint[], $10::bigint[]) as b (priority, since, id) order by b.priority
  ) p
  cross join lateral (
    select g.ctid, g.id, g.partition_key, g.fsm, g.fsm_version, g.priority, g.eligible_at from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority = p.priority
      and (g.eligible_at, g.id) >= (p.since, p.id)
      and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at, g.id
    limit $2::int
    for no key update skip locked
  ) c
  limit $2::int
),
{claim_due_jobs}
