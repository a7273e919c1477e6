-- add_history_to_stats: adds the history rows with ids after $1 and up to $2 to the statistics. Rows whose commit
-- counted them itself are left out; their counts are in stats_deltas, which is added and emptied. An end counts at its
-- time, a start and its wait at the time the run began (known once it is over). The duration of each step that ran to
-- an outcome is measured; a run that was released without running has none, and that of a lost run is unknown. Each row
-- is read once, to group it; everything else works on the few groups.
-- Index: history_feed, gen_durable_pkey.
with folded as (
  delete from kairos.stats_deltas d returning d.*
), grouped as materialized (
  select g.fsm, g.queue, h.verb, h.to_state, date_bin('1 minute', h.at, 'epoch') as minute,
    case when h.due_at is not null and h.verb <> 'release'
      then date_bin('1 minute', h.started_at, 'epoch') end as start_minute,
    case when h.due_at is not null and h.verb <> 'release' then kairos.bucket(h.started_at - h.due_at) end as wait,
    {run_bucket} as run,
    count(*) as n
  from kairos.history h
  -- One index lookup for each row: with a join, the planner may read every job.
  cross join lateral (select j.fsm, j.queue from kairos.gen_durable j where j.id = h.job_id limit 1) g
  where h.id > $1::bigint and h.id <= $2::bigint and h.counted is null
  group by 1, 2, 3, 4, 5, 6, 7, 8
  union all
  select f.fsm, f.queue, f.verb, f.to_state, f.minute, f.start_minute, f.wait, f.run, f.n from folded f
), facts as (
  select minute, fsm, queue, case when verb = 'retry' then 'retried' when verb <> 'fail' then to_state end as what,
    null::int as wait, run, n
  from grouped
  union all
  select start_minute, fsm, queue, 'started', wait, null, n from grouped where start_minute is not null
), slotted as materialized (
  select grain, slot.at, f.fsm, f.queue, f.what, f.wait, f.run, sum(f.n) as n
  from facts f
  cross join (values (0), (60), (3600)) as grains (grain)
  cross join lateral (
    select case grain when 0 then 'epoch' else date_bin(grain * interval '1 second', f.minute, 'epoch') end as at
  ) slot
  group by 1, 2, 3, 4, 5, 6, 7
), waits as (
  select w.grain, w.at, w.fsm, w.queue, jsonb_object_agg(w.wait, w.n) as buckets
  from (select grain, at, fsm, queue, wait, sum(n) as n from slotted where wait is not null group by 1, 2, 3, 4, 5) w
  group by 1, 2, 3, 4
), runs as (
  select r.grain, r.at, r.fsm, r.queue, jsonb_object_agg(r.run, r.n) as buckets
  from (select grain, at, fsm, queue, run, sum(n) as n from slotted where run is not null group by 1, 2, 3, 4, 5) r
  group by 1, 2, 3, 4
), counts as (
  select s.grain, s.at, s.fsm, s.queue,
    coalesce(sum(s.n) filter (where s.what = 'started'), 0) as started,
    coalesce(sum(s.n) filter (where s.what = 'success'), 0) as success,
    coalesce(sum(s.n) filter (where s.what = 'failed'), 0) as failed,
    coalesce(sum(s.n) filter (where s.what = 'expired'), 0) as expired,
    coalesce(sum(s.n) filter (where s.what = 'cancelled'), 0) as cancelled,
    coalesce(sum(s.n) filter (where s.what = 'retried'), 0) as retried
  from slotted s group by 1, 2, 3, 4
)
insert into kairos.tallies as t
  (grain, at, fsm, queue, started, success, failed, expired, cancelled, retried, waits, runs)
select c.grain, c.at, c.fsm, c.queue, c.started, c.success, c.failed, c.expired, c.cancelled, c.retried,
  coalesce(waits.buckets, '{}'), coalesce(runs.buckets, '{}')
from counts c
left join waits using (grain, at, fsm, queue)
left join runs using (grain, at, fsm, queue)
order by c.grain, c.at, c.fsm, c.queue
on conflict (grain, at, fsm, queue) do update set
  started = t.started + excluded.started, success = t.success + excluded.success, failed = t.failed + excluded.failed,
  expired = t.expired + excluded.expired, cancelled = t.cancelled + excluded.cancelled,
  retried = t.retried + excluded.retried,
  waits = kairos.add_buckets(t.waits, excluded.waits), runs = kairos.add_buckets(t.runs, excluded.runs)
