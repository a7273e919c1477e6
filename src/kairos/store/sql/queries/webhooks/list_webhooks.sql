-- list_webhooks: webhooks by id, or only webhook $1, each with its newest delivery. At most $3 after $2 (null: from
-- the start, all).
-- Index: gen_durable_deliveries.
select w.id, w.url, w.kinds, w.paused_at, w.created_at, d.id as job, d.state, d.at, d.last_error
from kairos.webhooks w
left join lateral (
  select g.id, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state,
    coalesce(g.completed_at, g.inserted_at) as at, g.last_error
  from kairos.gen_durable g
  where g.fsm = 'kairos.webhook' and g.state ->> 'webhook' = w.id::text
  order by g.id desc limit 1
) d on true
where ($1::bigint is null or w.id = $1) and w.id > coalesce($2::bigint, 0)
order by w.id
limit $3::int
