-- agenda: whether the sweeper has anything to do now: one cheap look instead of four statements.
-- Index: gen_durable_expiry, gen_durable_deadline, gen_durable_lease, gen_durable_held.
select
  exists (select from kairos.gen_durable g
          where g.status = 'runnable' and g.expires_at is not null and g.expires_at <= kairos.now()) as expire,
  exists (select from kairos.gen_durable g
          where g.status = 'awaiting_signal' and g.await_until is not null and g.await_until <= kairos.now()) as timeout,
  exists (select from kairos.gen_durable g
          where g.status = 'executing' and g.lease_expires_at <= kairos.now()) as reap,
  exists (select from kairos.gen_durable g where g.status = 'runnable' and g.held) as held
