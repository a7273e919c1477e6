-- read_now: what time it is, by the only clock.
select kairos.now() as now
