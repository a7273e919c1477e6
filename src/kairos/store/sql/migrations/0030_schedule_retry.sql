-- The retry policy of a schedule's jobs, which takes the place of their machine's; null: the machine's own.

-- step: add the column
-- Without a default it is a change of the catalogue alone. Workers of the version before do not read it: the jobs that
-- they make of a schedule have their machine's policy.
alter table kairos.schedules add column retry jsonb;
