-- find_jobs_by_tag: the ids of at most $3 jobs with tag $1, below id $2.
-- Index: gen_durable_tags.
select g.id from kairos.gen_durable g
where g.tags @> array[$1::text] and g.tags <> '{}' and ($2::bigint is null or g.id < $2::bigint)
limit $3::int
