-- walk_by_status: the ids and ctids of the jobs whose {column} is {value}, status by status, newest first, if the
-- statement's `path` is {path}. The statement defines `wanted`, `range` and `share`.
  select each.* from wanted w
  cross join lateral (
    select w.status::text, g.id, g.ctid from kairos.gen_durable g
    where g.{column} is not null
      and (g.{column}, g.status, g.id) < ({value}, w.status, (select below from range))
      and (g.{column}, g.status, g.id) >= ({value}, w.status, (select first from range))
    order by g.{column} desc, g.status desc, g.id desc limit (select most from share)
  ) each
  where (select p.name from path p) = '{path}'
