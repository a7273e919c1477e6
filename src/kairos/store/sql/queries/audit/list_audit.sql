-- list_audit: audit rows, newest first, before row $1; filters may be null. A row without a status has an unknown
-- outcome. Exactly one branch returns rows: the one for the narrowest filter. Each branch selects a range of rows of
-- its own index, in its order: with equality conditions the planner may walk the primary key instead, and so the whole
-- log. Uses audit_target, audit_actor_verb, audit_actor, audit_verb, or the primary key.
select a.id, a.at, a.actor, a.verb, a.target, a.request_id, coalesce(a.status, e.status) as status,
  coalesce(a.details, e.details)::text as details
from (
  (select * from kairos.audit t
   where (t.target, t.id) < ($4::text, coalesce($1::bigint, 9223372036854775807)) and t.target >= $4::text
     and ($2::text is null or t.actor = $2::text) and ($3::text is null or t.verb = $3::text)
   order by t.target desc, t.id desc limit $5::int)
  union all
  (select * from kairos.audit b
   where $4::text is null and (b.actor, b.verb) >= ($2::text, $3::text)
     and (b.actor, b.verb, b.id) < ($2::text, $3::text, coalesce($1::bigint, 9223372036854775807))
   order by b.actor desc, b.verb desc, b.id desc limit $5::int)
  union all
  (select * from kairos.audit w
   where $4::text is null and $3::text is null and w.actor >= $2::text
     and (w.actor, w.id) < ($2::text, coalesce($1::bigint, 9223372036854775807))
   order by w.actor desc, w.id desc limit $5::int)
  union all
  (select * from kairos.audit v
   where $4::text is null and $2::text is null and v.verb >= $3::text
     and (v.verb, v.id) < ($3::text, coalesce($1::bigint, 9223372036854775807))
   order by v.verb desc, v.id desc limit $5::int)
  union all
  (select * from kairos.audit n
   where $4::text is null and $3::text is null and $2::text is null
     and n.id < coalesce($1::bigint, 9223372036854775807)
   order by n.id desc limit $5::int)
) a
left join kairos.audit_ends e on e.audit_id = a.id
order by a.id desc
