-- Rendered from kairos/fsm/lifecycle.py by `python -m kairos.fsm.render`. Do not edit.
create function kairos.refuse_transition() returns trigger language plpgsql as $$
begin
  raise exception 'job % cannot go from % to %: the lifecycle has no such transition',
    new.id, coalesce(old.status::text, 'nothing'), new.status
    using errcode = 'KA409', table = 'gen_durable', schema = tg_table_schema;
end $$;

create trigger gen_durable_guard after update on kairos.gen_durable
for each row when (
  (old.status is distinct from new.status and (old.status, new.status) not in (
    ('runnable', 'executing'),
    ('executing', 'runnable'),
    ('executing', 'failed'),
    ('executing', 'awaiting_signal'),
    ('executing', 'done'),
    ('executing', 'cancelled'),
    ('awaiting_signal', 'runnable'),
    ('runnable', 'cancelled'),
    ('awaiting_signal', 'cancelled'),
    ('runnable', 'expired')
  ))
  or (old.status in ('done', 'failed', 'cancelled', 'expired') and old is distinct from new)
) execute function kairos.refuse_transition();

create trigger gen_durable_born before insert on kairos.gen_durable
for each row when (new.status <> 'runnable')
execute function kairos.refuse_transition();
