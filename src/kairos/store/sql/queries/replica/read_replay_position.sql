-- read_replay_position: reads how far a standby has replayed the primary's log, which cluster it is, and whether it is
-- still a standby.
select pg_last_wal_replay_lsn()::text as position, pg_is_in_recovery() as is_standby, s.system_identifier as cluster
from pg_control_system() s
