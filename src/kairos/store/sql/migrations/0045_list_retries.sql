-- The index that lists the retries of a job.

-- step: by the job that is retried, and status (outside a transaction)
create index concurrently gen_durable_of_retry on kairos.gen_durable (retry_of, status, id) where retry_of is not null;
