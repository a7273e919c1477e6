-- purge_idempotency_keys: deletes at most $1 expired responses and counts them.
with old as materialized (
  select i.caller, i.key from kairos.idempotency i where i.expires_at <= kairos.now()
  order by i.expires_at limit $1::int
  for update skip locked
), forgotten as (
  delete from kairos.idempotency i using old where i.caller = old.caller and i.key = old.key returning i.key
)
select count(*) as requests from forgotten
