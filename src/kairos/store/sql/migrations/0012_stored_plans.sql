-- A schedule is stored as what it means, beside its sentence: a change of the grammar does not change it.
-- Workers of an older release do not know these columns. An edit by one of them raises `generation` and leaves `plan`
-- behind, so `plan` counts only while plan_generation = generation; otherwise it is compiled from the sentence again.
alter table kairos.schedules
  add column plan jsonb,                         -- its format version is plan ->> 'version'
  add column plan_generation int,                -- the generation that `plan` belongs to
  add column declared_at timestamptz;            -- when code last declared it; null: it was added by hand
update kairos.schedules set declared_at = inserted_at where declared_by is not null;

-- Which schedules the code of each worker declares. A live worker without a row here runs an older release.
create table kairos.declarations (
  worker      text primary key,
  app         text,                              -- the app's name; null: it has none
  schedules   text[] not null,
  declared_at timestamptz not null
);
