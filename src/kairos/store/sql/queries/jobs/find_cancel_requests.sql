-- find_cancel_requests: which of the given running jobs have a cancel request.
-- Index: gen_durable_pkey.
select g.id from kairos.gen_durable g
where g.id = any ($1::bigint[]) and g.status = 'executing' and g.cancel_requested_at is not null
