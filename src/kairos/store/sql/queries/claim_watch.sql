-- claim_watch: takes the next look at alarms, if the last is $1 ago; and with it the dearer ones, $2 and $3 apart.
-- Guard: one row, which is moved on by whoever comes first. A last look in the future is the clock's doing, and counts
-- for nothing, unless it is that of another who came first and began a moment later. Whoever comes too soon writes nothing.
insert into kairos.watch as w (looked_at, decayed_at, counted_at)
select kairos.now(), kairos.now(), kairos.now()
where not exists (
  select from kairos.watch o
  where o.looked_at > kairos.now() - $1::interval and o.looked_at < kairos.now() + interval '1 minute')
on conflict (singleton) do update set
  looked_at = excluded.looked_at,
  decayed_at = case when w.decayed_at > excluded.looked_at - $2::interval
                     and w.decayed_at < excluded.looked_at + interval '1 minute'
                    then w.decayed_at else excluded.looked_at end,
  counted_at = case when w.counted_at > excluded.looked_at - $3::interval
                     and w.counted_at < excluded.looked_at + interval '1 minute'
                    then w.counted_at else excluded.looked_at end
where not (w.looked_at > excluded.looked_at - $1::interval and w.looked_at < excluded.looked_at + interval '1 minute')
returning decayed_at = looked_at as decay, counted_at = looked_at as count,
  exists (select from kairos.incidents) as happened,
  exists (select from kairos.alarms a where a.cleared_at is null) as open
