-- retry_jobs: nothing -> runnable: inserts new jobs with the first input of ended ones. The first step is $4, or that
-- of the registered machine, or that of the first history row; the TTL is the job's own, or $5, or the machine's. $2 is
-- the actor, $3 the request id, $6 the trace.
-- Guard: the old jobs have ended; if the unique key is taken, no job is inserted.
-- Index: gen_durable_pkey, history_pkey, gen_durable_held, gen_durable_key_line.
with old as materialized (
  select g as row, g.id, g.queue, g.unique_key, g.completed_at is not null as ended,
    kairos.job_state(g.status, g.eligible_at, kairos.now()) as state,
    coalesce($4::text, m.step) as first_step, coalesce(g.ttl, $5::interval, m.ttl) as ttl
  from kairos.gen_durable g
  left join kairos.machines m on m.name = g.fsm and m.version = g.fsm_version
  where g.id = any ($1::bigint[])
), job as materialized (
  -- A copy of the old row except these columns. The columns of its run are not inserted.
  select j.* from old o
  cross join lateral jsonb_populate_record(o.row, jsonb_build_object(
    'id', nextval((select kairos.job_ids())), 'retry_of', o.id,
    'step', coalesce(
      o.first_step, (select h.step from kairos.history h where h.job_id = o.id order by h.id limit 1), (o.row).step),
    'state', coalesce((o.row).input, (o.row).state),
    'eligible_at', kairos.now(), 'ttl', o.ttl, 'expires_at', kairos.now() + o.ttl,
    'created_by', $2::text, 'request_id', $3::text, 'trace', $6::text,
    'reply_to', null, 'reply_name', null, 'schedule', null, 'tick_at', null
  )) j
  where o.ended
),
{insert_job_rows}
select o.id, o.queue, o.state, o.ended, i.id is not null as done, i.id as made,
       (select h.id from kairos.gen_durable h where h.unique_guard = o.unique_key) as holder
from old o left join inserted i on i.retry_of = o.id
