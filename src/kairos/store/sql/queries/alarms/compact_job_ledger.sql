-- compact_job_ledger: merges up to $1 rows of the job ledger into one with the same sums.
with folded as (
  delete from kairos.job_ledger l
  where l.ctid = any (array(select o.ctid from kairos.job_ledger o limit $1::int))
  returning l.accepted, l.removed, l.written_off
), kept as (
  insert into kairos.job_ledger (accepted, removed, written_off)
  select sum(f.accepted), sum(f.removed), sum(f.written_off) from folded f having count(*) > 0
)
select count(*) as rows from folded
