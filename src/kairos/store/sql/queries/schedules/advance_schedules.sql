-- advance_schedules: moves the cursor of schedules past the ticks that were decided.
-- Guard: run in the transaction that locked and fired them.
update kairos.schedules s set
  cursor_at = a.cursor_at, next_tick_at = a.next_tick_at,
  ticks_left = case when s.ticks_left is not null then greatest(s.ticks_left - a.spent, 0) end
from unnest($1::text::text[], $2::text::timestamptz[], $3::text::timestamptz[], $4::text::int[])
  as a (name, cursor_at, next_tick_at, spent)
where s.name = a.name
