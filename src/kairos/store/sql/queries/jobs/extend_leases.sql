-- extend_leases: extends expired leases by $1, so that their holders can renew them: of the jobs $2, or of all if null.
-- For leases that could not be renewed because a lock or an outage stopped the keepers as well as the reaper.
-- Guard: executing and expired. Never waits: a row that is still locked stays as it is. Index: gen_durable_lease.
with expired as materialized (
  select g.id from kairos.gen_durable g
  where g.status = 'executing' and g.lease_expires_at <= kairos.now()
    and ($2::bigint[] is null or g.id = any ($2::bigint[]))
  order by g.lease_expires_at
  limit 10000
  for no key update skip locked
)
update kairos.gen_durable g set lease_expires_at = kairos.now() + $1::interval
from expired where g.id = expired.id
returning g.id
