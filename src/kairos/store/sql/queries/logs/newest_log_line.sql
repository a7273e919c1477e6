-- newest_log_line: the cursor of the newest log line of one job, 0 if it has none.
-- Index: logs_pkey.
select coalesce(max(l.cursor), 0) as cursor from kairos.logs l where l.job_id = $1::bigint
