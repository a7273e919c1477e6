-- expired_leases: the $1 leases that expired first, of jobs that have not been reaped, without the jobs $2.
-- Index: gen_durable_lease.
select g.id, g.lease from kairos.gen_durable g
where g.status = 'executing' and g.lease_expires_at <= kairos.now() and g.id <> all ($2::bigint[])
order by g.lease_expires_at
limit $1::int
