-- save_queue: saves settings of a queue. $2 lists those that change: 'paused', whose value is $3, or limits, whose values
-- are $4 and the following in the order of kairos.shapes.queue.Limits. rate_full_until is limited to what the new rate
-- can reach, the time of rate_limit starts. That of a key is stored without a queue, and is limited only if the key has
-- no jobs waiting in another queue.
-- Index: gen_durable_key_line.
with reduced as (
  update kairos.key_rates r set
    rate_full_until = least(r.rate_full_until, kairos.now() + $8::int * kairos.rate_cost($9::interval, $8::int)),
    opens_at = case when r.opens_at > kairos.now() then kairos.now() else r.opens_at end
  where 'key_rate' = any ($2::text[]) and r.rate_full_until > kairos.now()
    -- One index lookup for each key: an EXISTS may be hashed over all waiting jobs with a key.
    and (
      select g.id from kairos.gen_durable g
      where g.partition_key = r.partition_key and g.status = 'runnable' and g.queue <> $1::text
      order by g.priority, g.eligible_at, g.id limit 1
    ) is null
)
insert into kairos.queues as q
  (name, paused_at, concurrency, rate_limit, rate_period, key_concurrency, key_rate_limit, key_rate_period)
values ($1::text, case when $3::boolean then kairos.now() end, $4::int, $5::int, $6::interval,
        coalesce($7::smallint, 1::smallint), $8::int, $9::interval)
on conflict (name) do update set
  paused_at = case when 'paused' = any ($2::text[])
    then case when $3::boolean then coalesce(q.paused_at, kairos.now()) end else q.paused_at end,
  concurrency = case when 'concurrency' = any ($2::text[]) then excluded.concurrency else q.concurrency end,
  rate_limit = case when 'rate' = any ($2::text[]) then excluded.rate_limit else q.rate_limit end,
  rate_period = case when 'rate' = any ($2::text[]) then excluded.rate_period else q.rate_period end,
  rate_full_until = case when 'rate' = any ($2::text[])
    then least(q.rate_full_until, kairos.now() + $5::int * kairos.rate_cost($6::interval, $5::int))
    else q.rate_full_until end,
  key_concurrency = case when 'key_concurrency' = any ($2::text[]) then excluded.key_concurrency else q.key_concurrency end,
  key_rate_limit = case when 'key_rate' = any ($2::text[]) then excluded.key_rate_limit else q.key_rate_limit end,
  key_rate_period = case when 'key_rate' = any ($2::text[]) then excluded.key_rate_period else q.key_rate_period end
returning q.name,
  {queue_settings}
