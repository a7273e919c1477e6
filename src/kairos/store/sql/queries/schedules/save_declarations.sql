-- save_declarations: records that worker $1 of app $2 declares the schedules $3; deletes the rows, older than a day, of
-- workers that left.
-- Index: declarations_pkey.
with gone as (
  delete from kairos.declarations d
  where d.declared_at < kairos.now() - interval '1 day'
    and not exists (select from kairos.workers w where w.id = d.worker)
)
insert into kairos.declarations as d (worker, app, schedules, declared_at)
values ($1::text, $2::text, coalesce($3::text::text[], '{}'), kairos.now())
on conflict (worker) do update set
  app = excluded.app, schedules = excluded.schedules, declared_at = excluded.declared_at
