-- name_session: until the end of its transaction a session is called $1, in pg_stat_activity and in the server's log.
select set_config('application_name', $1::text, true) as application_name
