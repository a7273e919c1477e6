-- find_unbalanced_removals: finds out whether anything but retention removed jobs. check_job_ledger counts the jobs
-- themselves.
select 'ledger_unbalanced' as kind, 'removed' as subject, abs(l.removed - p.jobs) as count, kairos.now() as since,
  l.removed || ' jobs left the table, and retention removed ' || p.jobs as detail
from (select coalesce(sum(l.removed - l.written_off), 0) as removed from kairos.job_ledger l) l
cross join (select coalesce(sum(p.jobs), 0) as jobs from kairos.purged p) p
where l.removed <> p.jobs
