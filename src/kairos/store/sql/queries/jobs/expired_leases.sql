-- expired_leases: the $1 leases that expired first, of jobs that have not been reaped. Index: gen_durable_lease.
select g.id, g.lease from kairos.gen_durable g
where g.status = 'executing' and g.lease_expires_at <= kairos.now()
order by g.lease_expires_at
limit $1::int
