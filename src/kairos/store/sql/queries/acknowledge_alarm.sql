-- acknowledge_alarm: somebody ($2) has seen it; the first to say so is remembered.
update kairos.alarms a set
  acknowledged_by = case when a.acknowledged_at is null then $2::text else a.acknowledged_by end,
  acknowledged_at = coalesce(a.acknowledged_at, kairos.now())
where a.id = $1::bigint and a.cleared_at is null
returning a.id, a.kind, a.subject, a.severity, a.cause, a.remedy, a.count, a.first_at, a.last_at,
  a.acknowledged_at, a.acknowledged_by, a.cleared_at
