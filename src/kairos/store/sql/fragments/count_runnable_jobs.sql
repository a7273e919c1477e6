-- count_runnable_jobs: counts as {state} the runnable jobs of each row of `{lines}` (queue, priorities) with an
-- eligible_at {side} now: priority by priority, until it reaches the statement's `share`.
  select l.queue, '{state}', max(l.jobs), max(l.jobs) >= (select s.most from share s)
  from (
    with recursive so_far (queue, priorities, next, jobs) as (
      select f.queue, f.priorities, 1, 0::bigint from {lines} f
      union all
      select f.queue, f.priorities, f.next + 1, f.jobs + n.jobs
      from so_far f
      cross join lateral (
        select count(*) as jobs from (
          select from kairos.gen_durable g
          where g.queue = f.queue and g.status = 'runnable' and {jobs} and g.eligible_at {side} kairos.now()
          order by g.eligible_at limit (select s.most from share s) - f.jobs
        ) each
      ) n
      where f.next <= cardinality(f.priorities) and f.jobs < (select s.most from share s)
    )
    select f.queue, f.jobs from so_far f
  ) l
  group by l.queue
