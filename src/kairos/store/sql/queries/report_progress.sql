-- report_progress: how far running jobs have come. Guard: id, lease and status. Index: gen_durable_pkey.
update kairos.gen_durable g set progress = p.progress::jsonb
from unnest($1::bigint[], $2::bigint[], $3::text[]) as p (id, lease, progress)
where g.id = p.id and g.lease = p.lease and g.locked_by is not null
