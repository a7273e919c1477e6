-- purge_stats: deletes minutes older than $1 and hours older than $2, at most $3 rows.
with old as (
  (select t.ctid from kairos.tallies t where t.grain = 60 and t.at < kairos.now() - $1::interval limit $3::int)
  union all
  (select t.ctid from kairos.tallies t where t.grain = 3600 and t.at < kairos.now() - $2::interval limit $3::int)
), gone as (
  delete from kairos.tallies t where t.ctid = any (array(select old.ctid from old)) returning 1
)
select count(*) as slots from gone
