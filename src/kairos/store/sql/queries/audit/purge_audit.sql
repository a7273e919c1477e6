-- purge_audit: deletes audit rows that are older than $1, through kairos.forget_audit(), the only function that may.
select kairos.forget_audit($1::interval, $2::int) as forgotten
