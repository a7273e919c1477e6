-- notify_cancel: notifies the workers that run these jobs that a cancel was requested.
select pg_notify('kairos_cancel', id::text) from unnest($1::bigint[]) as id
