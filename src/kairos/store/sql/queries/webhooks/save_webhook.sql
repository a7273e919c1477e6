-- save_webhook: inserts a webhook, or, where $1 is an id, changes the given fields.
with changed as (
  update kairos.webhooks w set
    url = coalesce($2::text, w.url), kinds = coalesce($4::text[], w.kinds),
    paused_at = case when $5::boolean is null then w.paused_at
                     when $5::boolean then coalesce(w.paused_at, kairos.now()) end
  where w.id = $1::bigint
  returning w.id
), made as (
  insert into kairos.webhooks (url, secret, kinds, paused_at, created_at, created_by)
  select $2::text, $3::text, coalesce($4::text[], '{}'), case when $5::boolean then kairos.now() end,
    kairos.now(), $6::text
  where $1::bigint is null
  returning id
)
select id from changed union all select id from made
