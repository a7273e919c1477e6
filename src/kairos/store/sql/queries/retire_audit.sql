-- retire_audit: deletes at most $1 rows of the audit log that are older than kairos.audit_retention(), as its owner set it.
select kairos.retire_audit($1::int) as forgotten
