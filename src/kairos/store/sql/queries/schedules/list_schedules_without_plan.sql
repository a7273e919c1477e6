-- list_schedules_without_plan: schedules after name $1 whose stored plan is missing or of an older generation, because
-- an older release saved them.
-- Index: schedules_pkey.
select s.name, s.generation, s.sentence from kairos.schedules s
where s.name > $1::text and s.plan_generation is distinct from s.generation
order by s.name
limit $2::int
