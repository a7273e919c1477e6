-- count_line: how many runnable jobs of each row of `{lines}` have an eligible_at {side} now, as {state}: at most the
-- statement's `share`; and when the first of them is due.
  select l.queue, '{state}', n.jobs, n.oldest_at, n.jobs >= (select s.most from share s)
  from {lines} l
  cross join lateral (
    select count(*) as jobs, min(each.eligible_at) as oldest_at from (
      select g.eligible_at from kairos.gen_durable g
      where g.queue = l.queue and g.status = 'runnable' and {jobs} and g.eligible_at {side} kairos.now()
      order by g.eligible_at limit (select s.most from share s)
    ) each
  ) n
