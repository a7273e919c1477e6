-- read_stats_totals: the totals of everything counted, by action and queue: they only grow.
select t.fsm, t.queue, t.accepted, t.started, t.success, t.failed, t.expired, t.cancelled, t.retried,
  t.waits::text as waits, t.runs::text as runs
from kairos.tallies t
where t.grain = 0
order by t.accepted desc, t.fsm, t.queue
