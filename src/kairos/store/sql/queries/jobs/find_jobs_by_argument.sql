-- find_jobs_by_argument: the ids of at most $4 jobs with the searchable arguments $1 (path:value), below id $3. An
-- argument is searchable if an action declares it, or, where $2 is given, action $2; the path * stands for each
-- searchable argument. If no path of $1 is searchable, `declared` is false and no id is returned. If $1 has several *,
-- only the first is looked up. Values are compared up to the length that is indexed.
-- Index: gen_durable_search.
with asked as materialized (
  select split_part(i.entry, ':', 1) as path, left(substr(i.entry, strpos(i.entry, ':') + 1), 200) as value
  from unnest($1::text[]) as i (entry)
), paths as materialized (
  select distinct p.path from kairos.machines m cross join lateral unnest(m.search) as p (path)
  where $2::text is null or m.name = $2::text
), declared as materialized (
  select
    (select array_agg(a.path || ':' || a.value) from asked a where a.path in (select p.path from paths p)) as entries,
    (select array_agg(p.path || ':' || a.value)
     from (select s.value from asked s where s.path = '*' limit 1) a cross join paths p) as any_of
)
select coalesce(d.entries, d.any_of) is not null as declared, found.id
from declared d
left join lateral (
  (select g.id from kairos.gen_durable g
   where g.search is not null and g.search @> (select d.entries from declared d)
     and ($3::bigint is null or g.id < $3::bigint)
   limit $4::int)
  union all
  (select g.id from kairos.gen_durable g
   where d.entries is null and g.search is not null and g.search && (select d.any_of from declared d)
     and ($3::bigint is null or g.id < $3::bigint)
   limit $4::int)
) found on true
