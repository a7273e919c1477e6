-- clear_alarms: clears alarms whose cause is gone; if the cause returns, a new alarm is raised.
update kairos.alarms a set cleared_at = kairos.now()
where a.id = any ($1::bigint[]) and a.cleared_at is null
returning a.id, a.kind, a.subject, a.severity, a.cause, a.remedy, a.count, a.first_at, a.last_at,
  a.acknowledged_at, a.acknowledged_by, a.cleared_at
