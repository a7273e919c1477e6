-- queue_settings: the settings of the row `q` of kairos.queues; those of a queue without a row if all of it is null.
q.paused_at, q.concurrency, q.rate_limit, q.rate_period,
  coalesce(q.key_concurrency, 1::smallint) as key_concurrency, q.key_rate_limit, q.key_rate_period
