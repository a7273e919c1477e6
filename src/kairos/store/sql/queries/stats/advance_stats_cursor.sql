-- advance_stats_cursor: records that a source of the statistics has been counted up to id $2.
update kairos.tally_cursors c set
  counted = $2::bigint, counted_at = case when $2::bigint >= c.seen then c.seen_at else c.counted_at end
where c.source = $1::text
