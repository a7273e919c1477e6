-- lock_reply_targets: locks the jobs that the rows of `due` (reply_to) reply to, except those that other sessions have
-- locked; `free` are the rows of `due` that have no reply or whose reply can be delivered without waiting.
parents as materialized (
  select p.id from kairos.gen_durable p
  where p.id = any (array(select due.reply_to from due where due.reply_to is not null))
  for no key update skip locked
), free as (
  select due.* from due
  where due.reply_to is null or due.reply_to in (select parents.id from parents)
    or not exists (select from kairos.gen_durable p where p.id = due.reply_to)
)
