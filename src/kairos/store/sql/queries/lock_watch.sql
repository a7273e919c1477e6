-- lock_watch: keeps other watchers out until the end of this transaction; the next statement sees what they did.
select kairos.now() as now, pg_advisory_xact_lock(hashtextextended('kairos.watch', 7741))::text as locked
