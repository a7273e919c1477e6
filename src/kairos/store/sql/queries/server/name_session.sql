-- name_session: names the session $1 until the end of its transaction, in pg_stat_activity and in the server's log.
select set_config('application_name', $1::text, true) as application_name
