-- next_known_due: for each queue that workers with different actions share, how long until the next job of the actions
-- $2 in the versions $3 is due; $4 is $8 of pick_known_jobs.
-- Index: gen_durable_pick_action, one descent per action and priority; see pick_known_jobs for the comparisons.
select q.name, kairos.until(known.eligible_at) as wait
from unnest($1::text[]) as q (name)
left join lateral (
  with recursive lines as (
    select k.fsm, k.version, n.priority
    from unnest($2::text[], $3::int[]) as k (fsm, version)
    cross join lateral (
      select g.priority from kairos.gen_durable g
      where g.queue = q.name and g.status = 'runnable' and not g.held
        and (g.fsm, g.fsm_version) >= (k.fsm, k.version) and (g.fsm, g.fsm_version) <= (k.fsm, k.version)
      order by g.fsm, g.fsm_version, g.priority limit 1
    ) n
    union all
    select l.fsm, l.version, n.priority from lines l
    cross join lateral (
      select g.priority from kairos.gen_durable g
      where g.queue = q.name and g.status = 'runnable' and not g.held
        and (g.fsm, g.fsm_version, g.priority) > (l.fsm, l.version, l.priority)
        and (g.fsm, g.fsm_version) <= (l.fsm, l.version)
      order by g.fsm, g.fsm_version, g.priority limit 1
    ) n
  )
  select min(first.eligible_at) as eligible_at
  from lines l
  cross join lateral (
    select g.eligible_at from kairos.gen_durable g
    where g.queue = q.name and g.status = 'runnable' and not g.held
      and (g.fsm, g.fsm_version, g.priority) >= (l.fsm, l.version, l.priority)
      and (g.fsm, g.fsm_version, g.priority) <= (l.fsm, l.version, l.priority)
      and (g.expires_at is null or g.expires_at > kairos.now())
      and case when $4::text is null or jsonb_typeof(g.state) <> 'object' then true
        else coalesce(g.state - ($4::text::jsonb ->> (g.fsm || '@' || g.fsm_version))::text[] = '{}', true) end
    order by g.fsm, g.fsm_version, g.priority, g.eligible_at limit 1
  ) first
) known on true
