-- find_jobs_by_error_words: the ids of at most $3 jobs that failed with all words of $1 in their error, below id $2.
-- Index: gen_durable_error_text.
select g.id from kairos.gen_durable g
where to_tsvector('simple', left(g.last_error, 1000)) @@ plainto_tsquery('simple', $1::text) and g.error_group is not null
  and ($2::bigint is null or g.id < $2::bigint)
limit $3::int
