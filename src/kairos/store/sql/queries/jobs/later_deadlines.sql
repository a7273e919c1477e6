-- later_deadlines: how long until the next deadline of each kind that is not due yet. The sweeper asks for them while
-- something that is due cannot be handled, since next_deadlines then returns nothing else of that kind.
-- Index: gen_durable_expiry, gen_durable_deadline, gen_durable_lease, schedules_due, key_rates_opens.
select
  kairos.until((select min(g.expires_at) from kairos.gen_durable g
                where g.status = 'runnable' and g.expires_at is not null and g.expires_at > kairos.now())) as expire,
  kairos.until((select min(g.await_until) from kairos.gen_durable g
                where g.status = 'awaiting_signal' and g.await_until is not null and g.await_until > kairos.now())) as timeout,
  kairos.until((select min(g.lease_expires_at) from kairos.gen_durable g
                where g.status = 'executing' and g.lease_expires_at > kairos.now())) as reap,
  kairos.until((select min(s.next_tick_at) from kairos.schedules s
                where s.paused_at is null and s.next_tick_at is not null and s.next_tick_at > kairos.now())) as tick,
  kairos.until((select min(r.opens_at) from kairos.key_rates r
                where r.opens_at is not null and r.opens_at > kairos.now())) as key_rate
