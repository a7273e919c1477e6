-- find_ended_jobs: which of the given jobs have ended or no longer exist.
-- Index: gen_durable_pkey.
select w.id from unnest($1::bigint[]) as w (id)
left join kairos.gen_durable g on g.id = w.id
where g.id is null or g.completed_at is not null
