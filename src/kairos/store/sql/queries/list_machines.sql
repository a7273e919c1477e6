-- list_machines: the machines that were ever registered, or those of the names $1, and how many workers seen within $2
-- know each. By name, at most $4 names after $3 (null: from the first, and all), each with all its versions.
select m.name, m.version, m.queue, m.ttl, m.step, m.input::text as input, m.diagram::text as diagram, m.redact,
  m.options::text as options, m.seen_at,
  (select count(*) from kairos.workers w
   where m.name = any (w.actions) and w.seen_at > kairos.now() - $2::interval) as workers
from kairos.machines m
where m.name = any (array(
  select distinct n.name from kairos.machines n
  where ($1::text[] is null or n.name = any ($1::text[])) and n.name > coalesce($3::text, '')
  order by n.name
  limit $4::int
))
order by m.name, m.version
