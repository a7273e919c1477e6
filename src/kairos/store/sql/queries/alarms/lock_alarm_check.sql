-- lock_alarm_check: takes the lock on alarms until the transaction ends; the next statement sees what earlier holders
-- committed.
select kairos.now() as now, pg_advisory_xact_lock(hashtextextended('kairos.watch', 7741))::text as locked
