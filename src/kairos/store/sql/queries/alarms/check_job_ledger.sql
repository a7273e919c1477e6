-- check_job_ledger: finds out whether accepted - removed differs from the number of jobs. It counts all jobs, and does
-- so only if there are about $1 or fewer.
select 'ledger_unbalanced' as kind, 'accepted' as subject, abs(l.accepted - l.removed - j.jobs) as count,
  kairos.now() as since,
  l.accepted || ' jobs were accepted, ' || l.removed || ' of them removed, and ' || j.jobs || ' are there' as detail
from (select coalesce(sum(l.accepted), 0) as accepted, coalesce(sum(l.removed), 0) as removed from kairos.job_ledger l) l
cross join lateral (
  select count(*) as jobs from kairos.gen_durable g
  where (select c.reltuples from pg_class c where c.oid = 'kairos.gen_durable'::regclass) <= $1::bigint
) j
where l.accepted - l.removed <> j.jobs
  and (select c.reltuples from pg_class c where c.oid = 'kairos.gen_durable'::regclass) <= $1::bigint
