-- expirable_jobs: the $1 jobs whose TTL closed first and that have not expired, without the jobs $2.
-- Index: gen_durable_expiry.
select g.id from kairos.gen_durable g
where g.status = 'runnable' and g.expires_at is not null and g.expires_at <= kairos.now() and g.id <> all ($2::bigint[])
order by g.expires_at, g.id
limit $1::int
