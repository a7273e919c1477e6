-- read_inboxes: the signals that wait for the jobs $1, of each those after signal $2, in order: in all at most $3 bytes
-- and of each job at most $4 signals, but one at least. `found` is how many there were before the limit in bytes.
-- The size of a signal from before sizes were stored is guessed, and rather too high: it may be compressed a hundredfold,
-- and is at most $5.
-- Index: signals_inbox. Payloads are read once it is known which are wanted.
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
