-- history_columns: every field of a change that clients see, of the row `h` of kairos.history.
h.id, h.verb, h.from_state, h.to_state, h.step, h.attempt, h.worker, h.actor, h.reason, h.due_at, h.started_at, h.at,
  h.state::text as state
