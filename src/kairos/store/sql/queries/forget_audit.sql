-- forget_audit: deletes rows of the audit log that are older than $1, through the one function that may.
select kairos.forget_audit($1::interval, $2::int) as forgotten
