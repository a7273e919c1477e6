-- trigger_schedule: nothing -> runnable: inserts the job of a schedule now, outside its ticks.
-- Guard: the schedule exists.
-- Index: gen_durable_held, gen_durable_key_line.
with firing as materialized (
  select s.name as schedule, nextval((select kairos.job_ids())) as job_id, null::timestamptz as tick_at,
    kairos.now() as due_at, $2::text as created_by, $3::text as request_id
  from kairos.schedules s where s.name = $1::text
),
{job_of_schedule},
{insert_job_rows}
select i.id, i.queue from inserted i
