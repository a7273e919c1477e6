-- write_off: makes the ledger balance with the jobs that are there; somebody has seen by how much it was off.
insert into kairos.job_ledger (accepted, removed, written_off)
select greatest(-off.lost, 0), greatest(off.lost, 0), l.removed + greatest(off.lost, 0) - p.jobs - l.written_off
from (
  select coalesce(sum(l.accepted), 0) as accepted, coalesce(sum(l.removed), 0) as removed,
    coalesce(sum(l.written_off), 0) as written_off
  from kairos.job_ledger l
) l
cross join (select coalesce(sum(p.jobs), 0) as jobs from kairos.purged p) p
cross join lateral (select l.accepted - l.removed - count(*) as lost from kairos.gen_durable g) off
