-- agenda: how long until the sweeper's next deadlines: one cheap look instead of four statements.
-- Index: gen_durable_expiry, gen_durable_deadline, gen_durable_lease, gen_durable_held.
select
  (select min(g.expires_at) from kairos.gen_durable g
   where g.status = 'runnable' and g.expires_at is not null) - kairos.now() as expire,
  (select min(g.await_until) from kairos.gen_durable g
   where g.status = 'awaiting_signal' and g.await_until is not null) - kairos.now() as timeout,
  (select min(g.lease_expires_at) from kairos.gen_durable g where g.status = 'executing') - kairos.now() as reap,
  exists (select from kairos.gen_durable g where g.status = 'runnable' and g.held) as held
