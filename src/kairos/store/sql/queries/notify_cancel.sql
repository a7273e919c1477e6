-- notify_cancel: a hint to the worker that runs this job.
select pg_notify('kairos_cancel', $1::text)
