"""The statements of the original engine on today's columns: each has a flaw that ours has not."""

PICK = """
with picked as (
  select id from kairos.gen_durable
  where status = 'runnable' and eligible_at <= now() and queue = any($1)
  order by priority, eligible_at
  for update skip locked
  limit $2
)
update kairos.gen_durable g
set status = 'executing', locked_by = $3, lease_expires_at = now() + interval '30 s', updated_at = now(),
    lease = g.lease + 1, started_at = coalesce(g.started_at, now())
from picked where g.id = picked.id
returning g.id"""

DONE = """
update kairos.gen_durable
set result = $2, status = 'done', locked_by = null, lease_expires_at = null, completed_at = now(), updated_at = now()
where id = $1"""

PARK = """
update kairos.gen_durable
set status = 'awaiting_signal', awaits = array[$2::text], locked_by = null, lease_expires_at = null, updated_at = now()
where id = $1"""

INSERT_SIGNAL = "insert into kairos.signals (target_id, name, inserted_at) values ($1, $2, now())"

WAKE = """
update kairos.gen_durable
set status = 'runnable', eligible_at = now(), awaits = null, updated_at = now()
where id = $1 and status = 'awaiting_signal' and $2 = any (awaits)"""

REAP = """
update kairos.gen_durable
set status = 'runnable', locked_by = null, lease_expires_at = null, attempt = attempt + 1, updated_at = now()
where status = 'executing' and lease_expires_at <= now()"""

TRY_KEY = "select pg_try_advisory_lock(hashtext($1))"
