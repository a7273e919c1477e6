-- finish_audit: records the status of requests whose audit rows were inserted before they ran; only the first status of
-- each is kept.
insert into kairos.audit_ends (audit_id, status, at, details)
select u.id, u.status, kairos.now(), u.details::jsonb
from unnest($1::text::bigint[], $2::text::smallint[], $3::text::text[]) as u (id, status, details)
on conflict (audit_id) do nothing
