-- read_unique_holder: the job that holds a unique key.
-- Index: gen_durable_unique.
select g.id from kairos.gen_durable g where g.unique_guard = $1::bytea
