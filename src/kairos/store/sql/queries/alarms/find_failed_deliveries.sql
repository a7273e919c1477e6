-- find_failed_deliveries: finds webhooks whose last delivery failed for good.
-- Index: gen_durable_deliveries.
select 'webhook_undeliverable' as kind, w.id::text as subject, 1::bigint as count, d.completed_at as since,
  d.last_error as detail
from kairos.webhooks w
cross join lateral (
  select g.status, g.completed_at, g.last_error from kairos.gen_durable g
  where g.fsm = 'kairos.webhook' and g.state ->> 'webhook' = w.id::text and g.completed_at is not null
  order by g.id desc limit 1
) d
where w.paused_at is null and d.status in ('failed', 'expired')
