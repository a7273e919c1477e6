-- run_bucket: the histogram bucket of how long the run took that ended with the change `h` of history; null if its worker
-- did not end it, or never began it.
    case when h.verb in ('next', 'replay', 'fail', 'await', 'done', 'stop', 'yield') and h.actor is null
      then kairos.bucket(h.at - h.started_at) end
