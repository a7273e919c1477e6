-- claim_due_jobs: claims the keyless rows of `due` (place, id, partition_key, known) and returns them, and the ids and
-- keys of those with a key; a row that is not `known` is left unchanged. The statement has locked the rows, so they can
-- be found by their ctid, `place`. $3 is the worker, $4 the length of its lease.
claimed as (
  update kairos.gen_durable g set
    status = 'executing', lease = g.lease + 1, locked_by = $3, lease_expires_at = kairos.now() + $4::interval,
    started_at = coalesce(g.started_at, kairos.now()), picked_at = kairos.now(), updated_at = kairos.now(),
    unique_key = case when g.unique_key is null or g.unique_scope = '{runnable}' then null else g.unique_key end
  where g.ctid = any (array(select due.place from due where due.partition_key is null and due.known))
  returning g.id, g.lease, g.fsm, g.fsm_version, g.step, g.state, g.attempt, g.partition_key, g.awaits, g.reply_to,
    g.signalled, g.reaps, g.max_reaps, g.trace, g.retry, g.priority, g.eligible_at
)
select
  {claim_columns}
from (
  select * from claimed
  union all
  select due.id, null, due.fsm, due.fsm_version, null, null, null, due.partition_key, null, null, null, null, null, null,
    null, due.priority, due.eligible_at
  from due where due.partition_key is not null or not due.known
) c
order by c.priority, c.eligible_at, c.id
