-- mark_feed: how far the order of all changes is decided: the last number drawn, and who may still commit below it.
select m.last, m.writers from kairos.feed_mark() m
