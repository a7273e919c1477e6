-- read_stats: counts of grain $1 from $2 until before $3, in slots of $4 seconds from $2; by action where $7 is true,
-- otherwise all together.
with chosen as materialized (
  select floor(extract(epoch from t.at - $2::timestamptz) / $4::int)::int as place,
    case when $7::boolean then t.fsm end as action, t.*
  from kairos.tallies t
  where t.grain = $1::int and t.at >= $2::timestamptz and t.at < $3::timestamptz
    and ($5::text is null or t.fsm = $5::text) and ($6::text is null or t.queue = $6::text)
), counts as (
  select place, action, sum(accepted)::bigint as accepted, sum(started)::bigint as started,
    sum(success)::bigint as success, sum(failed)::bigint as failed, sum(expired)::bigint as expired,
    sum(cancelled)::bigint as cancelled, sum(retried)::bigint as retried
  from chosen group by 1, 2
),
{sum_buckets: name=waits},
{sum_buckets: name=runs}
select c.*, coalesce(w.waits, '{}') as waits, coalesce(r.runs, '{}') as runs
from counts c
left join waits w on w.place = c.place and w.action is not distinct from c.action
left join runs r on r.place = c.place and r.action is not distinct from c.action
order by c.place, c.action
