-- declared_by_same_program: whether a program with the {actions} is a version of the program that declared schedule s:
-- it has the schedule's action, or at least half of the other actions of that program.
(s.fsm = any ({actions}) or (
  select count(*) filter (where a.name = any ({actions})) * 2 >= greatest(count(*), 1)
  from unnest(s.declared_with) as a (name) where a.name <> s.fsm
))
