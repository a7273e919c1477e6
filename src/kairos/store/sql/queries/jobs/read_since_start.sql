-- read_since_start: how long ago job $1 first started, by the clock of the database.
-- Index: gen_durable_pkey.
select kairos.now() - g.started_at as since_start from kairos.gen_durable g where g.id = $1::bigint
