-- read_overview: the time of the database, since when the statistics are behind (null: they are not), how many workers
-- and alarms there are, and the next ticks.
select kairos.now() as now,
  (select min(coalesce(c.counted_at, kairos.now())) from kairos.tally_cursors c
   where c.counted < coalesce(pg_sequence_last_value(
     case c.source when 'jobs' then 'kairos.gen_durable_id_seq'::regclass else 'kairos.history_id_seq'::regclass end
   ), 0)) as counted_at,
  (select count(*) from kairos.workers w where w.seen_at > kairos.now() - interval '30 seconds') as workers,
  (select count(*) from kairos.alarms a where a.cleared_at is null) as alarms,
  coalesce((
    select jsonb_agg(jsonb_build_array(n.name, n.next_tick_at) order by n.next_tick_at)
    from (
      select s.name, s.next_tick_at from kairos.schedules s
      where s.paused_at is null and s.next_tick_at is not null order by s.next_tick_at limit 10
    ) n
  ), '[]')::text as next
