-- What lists search by: declared arguments, groups of errors; and the states of a machine, step by step, where it asks.
-- Columns without a default: no row is written. Code of the version before neither writes nor reads them.

-- step: columns of jobs
alter table kairos.gen_durable
  add column search text[],                      -- path:value of each argument that the action declares searchable
  add column error_group text,                   -- fingerprint of the failure that ended it
  add column error_frame text;                   -- the last frame of the user's own code in that failure

-- step: states of a machine
alter table kairos.history add column state jsonb;  -- after the step, if the machine keeps its states

-- step: what a machine declares searchable
alter table kairos.machines add column search text[] not null default '{}';

-- step: functions
-- The texts of the scalars at a dotted path, also those inside lists.
create function kairos.argument_values(input jsonb, path text) returns text[] language sql immutable parallel safe as $$
  select array(
    select v #>> '{}'
    from jsonb_path_query(input, (
      '$' || (select string_agg('.' || to_json(part)::text, '') from unnest(string_to_array(path, '.')) part) || '[*]'
    )::jsonpath) v
    where jsonb_typeof(v) in ('string', 'number', 'boolean'))
$$;

-- What `search` holds. A value is cut, since an index entry has a limited length; who searches compares it whole.
create function kairos.search_entries(input jsonb, paths text[]) returns text[] language sql immutable parallel safe as $$
  select array_agg(distinct p.path || ':' || left(v.value, 200))
  from unnest(paths) as p (path)
  cross join lateral unnest(kairos.argument_values(input, p.path)) as v (value)
$$;
