-- acknowledge_alarm: somebody ($2) has seen it; the first to say so is remembered. A ledger that does not balance is
-- written off in the same commit: made to balance with the jobs that are there, for somebody has seen by how much it was off.
select a.id, a.kind, a.subject, a.severity, a.cause, a.remedy, a.count, a.first_at, a.last_at,
  a.acknowledged_at, a.acknowledged_by, a.cleared_at
from kairos.acknowledge($1::bigint, $2::text) a
