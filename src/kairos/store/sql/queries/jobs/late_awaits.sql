-- late_awaits: the $1 jobs whose await ran out of time first and that still wait, without the jobs $2.
-- Index: gen_durable_deadline.
select g.id from kairos.gen_durable g
where g.status = 'awaiting_signal' and g.await_until is not null and g.await_until <= kairos.now()
  and g.id <> all ($2::bigint[])
order by g.await_until, g.id
limit $1::int
