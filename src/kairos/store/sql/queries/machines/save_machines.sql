-- save_machines: registers the machines that a process knows, in one statement, in the order of names, so that two
-- processes lock the rows in the same order.
insert into kairos.machines as m (name, version, queue, ttl, step, input, diagram, redact, options, search, seen_at)
select u.name, u.version, u.queue, u.ttl * interval '1 microsecond', u.step, u.input::jsonb, u.diagram::jsonb,
       coalesce(u.redact::text[], '{}'), u.options::jsonb, coalesce(u.search::text[], '{}'), kairos.now()
from unnest(
  $1::text::text[], $2::text::int[], $3::text::text[], $4::text::bigint[], $5::text::text[], $6::text::text[],
  $7::text::text[], $8::text::text[], $9::text::text[], $10::text::text[]
) as u (name, version, queue, ttl, step, input, diagram, redact, options, search)
order by u.name, u.version
on conflict (name, version) do update set
  queue = excluded.queue, ttl = excluded.ttl, step = excluded.step, input = excluded.input, diagram = excluded.diagram,
  redact = excluded.redact, options = excluded.options, search = excluded.search, seen_at = excluded.seen_at
