-- purge_expired_audit: deletes at most $1 audit rows that are older than kairos.audit_retention(), which the owner of
-- the schema sets.
select kairos.retire_audit($1::int) as forgotten
