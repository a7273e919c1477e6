-- claim_columns: what a worker needs of a claimed row `c`. Instants are sent as microseconds: a driver takes longer to
-- parse a timestamp than the rest of the row.
  c.id, c.lease, c.fsm, c.fsm_version, c.step, c.state::text as state, c.attempt, c.partition_key, c.awaits, c.reply_to,
  nullif(c.signalled, false) as signalled,
  nullif(c.reaps * 2 > c.max_reaps, false) as suspect, (date_part('epoch', kairos.now()) * 1000000)::bigint as picked,
  c.trace, c.retry::text as retry, (date_part('epoch', c.eligible_at) * 1000000)::bigint as due,
  nullif(c.priority, 0) as priority
