-- save_queue: the settings of a queue; $2 says which of them change ('paused', 'concurrency', 'rate', 'key_concurrency', 'key_rate').
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
  key_concurrency = case when 'key_concurrency' = any ($2::text[]) then excluded.key_concurrency else q.key_concurrency end,
  key_rate_limit = case when 'key_rate' = any ($2::text[]) then excluded.key_rate_limit else q.key_rate_limit end,
  key_rate_period = case when 'key_rate' = any ($2::text[]) then excluded.key_rate_period else q.key_rate_period end
returning q.name, q.paused_at, q.concurrency, q.rate_limit, q.rate_period, q.key_concurrency, q.key_rate_limit, q.key_rate_period
