-- The actions of the program that declared a schedule last. The next version of the program is known by them, also when
-- the schedule was removed from the code together with its function.

-- step: add the column
-- Without a default it is a change of the catalogue alone. Workers of the version before do not fill it: until a worker of
-- this version declares the schedule, only a program that has the schedule's own action can stop it.
alter table kairos.schedules add column declared_with text[];
