-- read_feed_watermark: the last history id that was assigned, and the transactions that may still commit a lower one.
select m.last, m.writers from kairos.feed_mark() m
