-- renew_leases: extends the leases of worker $4 (jobs $1, tokens $2) by $3, and returns which of them it has lost. A
-- row that a commit has locked is neither renewed nor reported as lost.
-- Guard: id, lease, worker and status. A lease that expired, of a job that was not reaped yet, is still the worker's: a
-- lock or an outage may have stopped its renewals.
-- Index: gen_durable_pkey.
with held as materialized (
  select h.id, h.lease from unnest($1::bigint[], $2::bigint[]) as h (id, lease)
), mine as materialized (
  select g.id from held h join kairos.gen_durable g on g.id = h.id and g.lease = h.lease
  where g.status = 'executing' and g.locked_by = $4::text
  order by g.id
  for no key update of g skip locked
), renewed as (
  update kairos.gen_durable g set lease_expires_at = kairos.now() + $3::interval
  from mine where g.id = mine.id
)
select h.id,
  coalesce(g.lease <> h.lease or g.status <> 'executing' or g.locked_by <> $4::text, true) as lost,
  coalesce(g.cancel_requested_at is not null, false) as cancel_requested
from held h left join kairos.gen_durable g on g.id = h.id
