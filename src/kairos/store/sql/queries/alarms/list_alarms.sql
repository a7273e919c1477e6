-- list_alarms: open alarms, and cleared ones too where $1 is true; newest first, below id $2, at most $3; only alarm
-- $4 if given.
select a.id, a.kind, a.subject, a.severity, a.cause, a.remedy, a.count, a.first_at, a.last_at,
  a.acknowledged_at, a.acknowledged_by, a.cleared_at
from kairos.alarms a
where ($1::boolean or a.cleared_at is null) and ($2::bigint is null or a.id < $2)
  and ($4::bigint is null or a.id = $4)
order by a.id desc
limit $3::int
