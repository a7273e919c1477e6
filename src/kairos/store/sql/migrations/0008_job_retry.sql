-- A job's own retry policy, which takes the place of its machine's; null: the machine's own.

-- Without a default it is a change of the catalogue alone: no row is written. Workers of the version before neither
-- write nor read it, and answer the errors of such a job as its machine does.
alter table kairos.gen_durable add column retry jsonb;
