-- save_plan: stores the plan $3 that was compiled from the sentence of schedule $1.
-- Guard: the schedule still has generation $2. Index: schedules_pkey.
update kairos.schedules s set plan = $3::text::jsonb, plan_generation = s.generation
where s.name = $1::text and s.generation = $2::int
returning s.name
