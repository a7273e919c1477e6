-- count_transitions: counts each transition of the lifecycle in the history rows after $1 and up to $2.
-- Index: history_feed.
select h.verb, h.from_state, h.to_state, count(*) as count
from kairos.history h
where h.id > $1::bigint and h.id <= $2::bigint
group by h.verb, h.from_state, h.to_state
order by h.verb, h.from_state, h.to_state
