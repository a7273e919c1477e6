-- consume_signals: marks the signals {signals} of the rows of `{jobs}` as consumed.
consumed as (
  update kairos.signals s set consumed_at = kairos.now()
  where cardinality({signals}::bigint[]) > 0
    and s.id = any ({signals}::bigint[]) and s.target_id in (select {jobs}.id from {jobs})
)
