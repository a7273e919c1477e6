-- read_picked_job: what a pick reads of a job besides what pick_poison_job returns. Index: gen_durable_pkey.
select g.state::text as state, g.awaits, g.trace, g.retry::text as retry from kairos.gen_durable g where g.id = $1::bigint
