-- ids_of_status: the ids of the jobs whose {column} is {value}, of one status `s` and within `range`, at most $1 + 1.
      (select g.id from kairos.gen_durable g
       where g.{column} = {value} and g.status = s.status
         and g.id >= (select first from range) and g.id < (select below from range)
       order by g.{column}, g.status, g.id limit $1::int + 1)
