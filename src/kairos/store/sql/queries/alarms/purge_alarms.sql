-- purge_alarms: deletes alarms that were cleared longer than $1 ago.
-- Guard: cleared_at + $1 <= now.
delete from kairos.alarms a where a.cleared_at is not null and a.cleared_at <= kairos.now() - $1::interval
