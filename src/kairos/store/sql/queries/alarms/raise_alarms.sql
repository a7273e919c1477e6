-- raise_alarms: raises alarms that are not open yet and refreshes those that are, a batch; `raised` says which are
-- new.
-- Guard: the unique index alarms_open.
insert into kairos.alarms as a (kind, subject, severity, cause, remedy, count, first_at, last_at)
select f.kind, f.subject, f.severity, f.cause, f.remedy, f.count, f.first_at, f.last_at
from unnest(
  $1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::bigint[],
  $7::text::timestamptz[], $8::text::timestamptz[]
) as f (kind, subject, severity, cause, remedy, count, first_at, last_at)
order by f.kind, f.subject
on conflict (kind, subject) where cleared_at is null
do update set cause = excluded.cause, remedy = excluded.remedy, count = excluded.count, last_at = excluded.last_at
returning a.id, a.kind, a.subject, a.severity, a.cause, a.remedy, a.count, a.first_at, a.last_at,
  a.acknowledged_at, a.acknowledged_by, a.cleared_at, a.xmax = 0 as raised
