-- renew_leases: extends the leases a worker holds, and tells which of them it has lost.
-- Guard: id, lease, status, and a lease that has not expired (reap_jobs takes it from that instant on). A row
-- that is being settled right now is neither renewed nor lost. Index: gen_durable_pkey.
with held as materialized (
  select h.id, h.lease from unnest($1::bigint[], $2::bigint[]) as h (id, lease)
), mine as materialized (
  select g.id from held h join kairos.gen_durable g on g.id = h.id and g.lease = h.lease
  where g.status = 'executing' and g.lease_expires_at > kairos.now()
  order by g.id
  for no key update of g skip locked
), renewed as (
  update kairos.gen_durable g set lease_expires_at = kairos.now() + $3::interval
  from mine where g.id = mine.id
)
select h.id,
  coalesce(g.lease <> h.lease or g.status <> 'executing' or g.lease_expires_at <= kairos.now(), true) as lost,
  coalesce(g.cancel_requested_at is not null, false) as cancel_requested
from held h left join kairos.gen_durable g on g.id = h.id
