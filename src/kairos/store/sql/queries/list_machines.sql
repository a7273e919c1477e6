-- list_machines: the machines that were ever registered, or those of the names $1, and how many workers seen within $2
-- know each.
select m.name, m.version, m.queue, m.ttl, m.step, m.input::text as input, m.diagram::text as diagram, m.redact,
  m.options::text as options, m.seen_at,
  (select count(*) from kairos.workers w
   where m.name = any (w.actions) and w.seen_at > kairos.now() - $2::interval) as workers
from kairos.machines m
where $1::text[] is null or m.name = any ($1::text[])
order by m.name, m.version
