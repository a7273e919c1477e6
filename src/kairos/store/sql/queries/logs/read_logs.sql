-- read_logs: the log lines of one job after cursor $2, in order.
-- Index: logs_pkey.
select l.cursor, l.at, l.level, l.line, l.fields::text as fields, l.step, l.attempt, l.stream
from kairos.logs l
where l.job_id = $1::bigint and l.cursor > $2::bigint
order by l.cursor
limit $3::int
