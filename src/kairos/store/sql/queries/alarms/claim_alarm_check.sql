-- claim_alarm_check: claims the next check for alarms if the last one was at least $1 ago, and with it the more
-- expensive checks, at intervals of $2 and $3.
-- Guard: the single row of kairos.watch has the times of the last checks; the first worker that updates it runs the
-- check. A last check in the future means that the clock was set back, and is ignored, unless it is within a minute:
-- then another worker started a moment later. If the check is not due, nothing is written.
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
returning decayed_at = looked_at as slow, counted_at = looked_at as count,
  exists (select from kairos.incidents) as happened,
  exists (select from kairos.alarms a where a.cleared_at is null) as open
