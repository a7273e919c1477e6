-- acknowledge_alarm: marks an alarm as acknowledged by $2; the first acknowledgement is kept. Acknowledging an
-- unbalanced job ledger also corrects the ledger to the jobs that exist, in the same commit.
select a.id, a.kind, a.subject, a.severity, a.cause, a.remedy, a.count, a.first_at, a.last_at,
  a.acknowledged_at, a.acknowledged_by, a.cleared_at
from kairos.acknowledge($1::bigint, $2::text) a
