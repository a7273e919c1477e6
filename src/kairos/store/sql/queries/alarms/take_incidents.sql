-- take_incidents: deletes and returns at most $1 recorded incidents, grouped by alarm kind and subject.
with taken as (
  delete from kairos.incidents i
  where i.id = any (array(select o.id from kairos.incidents o order by o.id limit $1::int))
  returning i.*
)
select t.kind, t.subject, sum(t.n)::bigint as count, min(t.at) as since, max(t.at) as at, count(*) as rows,
  (array_agg(t.job_id order by t.id desc))[1] as job, (array_agg(t.detail order by t.id desc))[1] as detail
from taken t
group by t.kind, t.subject
order by t.kind, t.subject
