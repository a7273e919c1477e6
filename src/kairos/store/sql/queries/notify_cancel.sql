-- notify_cancel: a hint to the workers that run these jobs.
select pg_notify('kairos_cancel', id::text) from unnest($1::bigint[]) as id
