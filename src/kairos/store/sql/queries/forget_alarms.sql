-- forget_alarms: drops alarms that were cleared longer ago than $1.
-- Guard: cleared_at + $1 <= now.
delete from kairos.alarms a where a.cleared_at is not null and a.cleared_at <= kairos.now() - $1::interval
