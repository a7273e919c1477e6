-- next_deadlines: how long until the next deadline of each kind that the sweeper handles: one cheap statement instead
-- of six. Leases are read from $1 on (null: all), which skips the dead entries that a long snapshot keeps in the index.
-- `leases_from` is $1 of the next call: no lease ends before it, unless the clock was set back, as after a failover.
-- `held` is null if no job is held, otherwise the number of live workers, which look for stuck keys in turn.
-- Index: gen_durable_expiry, gen_durable_deadline, gen_durable_lease, gen_durable_queue_held, schedules_due,
-- key_rates_opens.
select
  kairos.until((select min(g.expires_at) from kairos.gen_durable g
                where g.status = 'runnable' and g.expires_at is not null)) as expire,
  kairos.until((select min(g.await_until) from kairos.gen_durable g
                where g.status = 'awaiting_signal' and g.await_until is not null)) as timeout,
  kairos.until(l.first) as reap, least(l.first, kairos.now()) as leases_from,
  kairos.until((select min(s.next_tick_at) from kairos.schedules s
                where s.paused_at is null and s.next_tick_at is not null)) as tick,
  kairos.until((select min(r.opens_at) from kairos.key_rates r where r.opens_at is not null)) as key_rate,
  case when exists (select from kairos.gen_durable g where g.status = 'runnable' and g.held) then (
    select greatest(count(*), 1) from kairos.workers w where w.seen_at > kairos.now() - interval '1 minute'
  ) end as held
from (
  select min(g.lease_expires_at) as first from kairos.gen_durable g
  where g.status = 'executing' and g.lease_expires_at >= case when $1::timestamptz <= kairos.now() then $1 else '-infinity' end
) l
