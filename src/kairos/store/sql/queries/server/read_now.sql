-- read_now: the current time, by the clock of the database.
select kairos.now() as now
