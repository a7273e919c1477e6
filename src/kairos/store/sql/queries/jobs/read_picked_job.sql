-- read_picked_job: the columns that a pick returns and pick_poison_job does not. Index: gen_durable_pkey.
select g.state::text as state, g.awaits, g.trace, g.retry::text as retry from kairos.gen_durable g where g.id = $1::bigint
