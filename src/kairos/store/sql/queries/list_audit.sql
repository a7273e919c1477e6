-- list_audit: who asked for what, newest first, before row $1; filters may be null. No status: nobody knows how it ended.
select a.id, a.at, a.actor, a.verb, a.target, a.request_id, coalesce(a.status, e.status) as status,
  coalesce(a.details, e.details)::text as details
from kairos.audit a left join kairos.audit_ends e on e.audit_id = a.id
where ($1::bigint is null or a.id < $1::bigint)
  and ($2::text is null or a.actor = $2::text)
  and ($3::text is null or a.verb = $3::text)
  and ($4::text is null or a.target = $4::text)
order by a.id desc
limit $5::int
