-- next_due: for each queue, how long until its next job is due, and whether it is paused or limited.
-- Index: gen_durable_pick, one descent per priority in use.
select q.name, s.paused_at is not null as paused,
  s.concurrency is not null or s.rate_limit is not null as limited,
  s.key_rate_limit is not null as key_limited,
  kairos.until(due.eligible_at) as wait
from unnest($1::text[]) as q (name)
left join kairos.queues s on s.name = q.name
left join lateral (
  with recursive priorities as (
    (select g.priority, g.eligible_at, g.expires_at from kairos.gen_durable g
     where g.queue = q.name and g.status = 'runnable' and not g.held
     order by g.priority, g.eligible_at limit 1)
    union all
    select n.priority, n.eligible_at, n.expires_at from priorities p
    cross join lateral (
      select g.priority, g.eligible_at, g.expires_at from kairos.gen_durable g
      where g.queue = q.name and g.status = 'runnable' and not g.held and g.priority > p.priority
      order by g.priority, g.eligible_at limit 1
    ) n
  )
  select min(case when p.expires_at is null or p.expires_at > kairos.now() then p.eligible_at else (
    select g.eligible_at from kairos.gen_durable g
    where g.queue = q.name and g.status = 'runnable' and not g.held and g.priority = p.priority
      and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at limit 1
  ) end) as eligible_at
  from priorities p
) due on true
