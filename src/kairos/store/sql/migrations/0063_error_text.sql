-- The index that finds failed jobs by the words of their error.

-- step: the words of an error (outside a transaction)
create index concurrently gen_durable_error_text on kairos.gen_durable
  using gin (to_tsvector('simple', left(last_error, 1000))) where error_group is not null;
