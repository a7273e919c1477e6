-- list_machines: registered machines by name, or only those named in $1, with all their versions and how many workers
-- with a heartbeat within $2 know each. At most $4 names after $3 (null: from the start, all).
select m.name, m.version, m.queue, m.ttl, m.step, m.input::text as input, m.diagram::text as diagram, m.redact,
  m.search, m.options::text as options, m.seen_at,
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
