-- read_inboxes: the signals that wait for the jobs $1, of each those after signal $2, in order: in all at most $3 bytes
-- and of each job at most $4 signals, but at least one. `found` is how many there were before the limit in bytes. A
-- signal that was stored before sizes were is estimated at a hundred times its compressed size, at most $5: rather too
-- much than too little.
-- Index: signals_inbox. Payloads are read only once it is known which signals fit.
select p.target_id, p.id, p.name, p.payload::text as payload, p.found, kairos.inbox_bytes() as quota
from (
  select s.target_id, s.id, s.name, s.payload, s.size, i.place, count(*) over () as found,
    sum(s.size) over (order by i.place, s.id rows unbounded preceding) as total,
    row_number() over (order by i.place, s.id) as number
  from unnest($1::bigint[], $2::bigint[]) with ordinality as i (job, after, place)
  cross join lateral (
    select o.target_id, o.id, o.name, o.payload, coalesce(o.bytes, least($5::int, 100 * pg_column_size(o.payload))) as size
    from kairos.signals o
    where o.target_id = i.job and o.consumed_at is null and o.id > i.after
    order by o.id
    limit $4::int
  ) s
) p
where p.total <= $3::bigint or p.number = 1
order by p.number
