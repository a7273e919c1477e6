-- read_feed: the history rows of all jobs after $1 and up to $2, in order, at most $3, with those fields of their jobs
-- that the feed shows.
-- Index: history_feed, gen_durable_pkey.
select h.id, h.job_id, g.fsm, g.queue, h.verb, h.from_state, h.to_state, h.step, h.at
from (
  select * from kairos.history c where c.id > $1::bigint and c.id <= $2::bigint order by c.id limit $3::int
) h
left join kairos.gen_durable g on g.id = h.job_id
order by h.id
