-- sum_buckets: adds up the histogram buckets in the column {name} of `chosen`, as one JSON document for each place and
-- action.
{name} as (
  select b.place, b.action, jsonb_object_agg(b.key, b.n)::text as {name}
  from (
    select c.place, c.action, e.key, sum(e.value::bigint) as n
    from chosen c cross join lateral jsonb_each_text(c.{name}) e group by 1, 2, 3
  ) b group by 1, 2
)
