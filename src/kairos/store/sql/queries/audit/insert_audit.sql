-- insert_audit: inserts one audit row per request, before the request is executed (or with its status, if it was
-- refused). Returns the ids in the order of the batch.
with given as materialized (
  select nextval('kairos.audit_id_seq'::regclass) as id, u.*
  from unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::smallint[], $6::text::text[])
    with ordinality as u (actor, verb, target, request_id, status, details, place)
), written as (
  insert into kairos.audit (id, at, actor, verb, target, request_id, status, details)
  select g.id, kairos.now(), g.actor, g.verb, g.target, g.request_id, g.status, g.details::jsonb from given g
)
select g.id from given g order by g.place
