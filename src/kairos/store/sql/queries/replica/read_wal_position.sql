-- read_wal_position: reads how far the primary has written its log, and which cluster it is; a standby refuses.
select pg_current_wal_lsn()::text as position, s.system_identifier as cluster from pg_control_system() s
