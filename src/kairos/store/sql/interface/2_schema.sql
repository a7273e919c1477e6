-- Why a value does not fit a JSON schema, as {path, sentence}, or null. It checks what SQL can: types, required and
-- unknown members, items, enum, const, anyOf, oneOf, allOf and references within the schema. Formats, patterns and bounds are
-- left to the action's code, which fails the job at its first pick.
create or replace function kairos.schema_refusal(value jsonb, schema jsonb, defs jsonb, path text) returns text[]
language plpgsql immutable as $$
declare
  kind constant text := jsonb_typeof(value);
  subject constant text := case when path = '' then 'the arguments' else format('argument %L', path) end;
  types jsonb;
  name text;
  part jsonb;
  refusal text[];
begin
  if schema = 'false' then
    return array[path, format('%s is not allowed', subject)];
  elsif jsonb_typeof(schema) <> 'object' then
    return null;
  end if;
  name := substring(schema ->> '$ref' from '^#/\$defs/(.+)$');
  if defs ? name then
    refusal := kairos.schema_refusal(value, defs -> name, defs, path);
  end if;
  for part in select * from jsonb_array_elements(coalesce(schema -> 'allOf', '[]')) loop
    refusal := coalesce(refusal, kairos.schema_refusal(value, part, defs, path));
  end loop;
  if refusal is not null then
    return refusal;
  end if;

  types := case jsonb_typeof(schema -> 'type')
    when 'array' then schema -> 'type' when 'string' then jsonb_build_array(schema -> 'type') end;
  if not (types ? kind or case when kind = 'number' then types ? 'integer' and value::numeric % 1 = 0 else false end) then
    return array[path, format('%s is of the type %s; it must be of the type %s', subject, kind,
      (select string_agg(t.kind, ' or ') from jsonb_array_elements_text(types) as t (kind)))];
  elsif schema ? 'const' and value <> schema -> 'const' then
    return array[path, format('%s must be %s', subject, schema -> 'const')];
  elsif schema ? 'enum' and not exists (
    select from jsonb_array_elements(schema -> 'enum') as e (item) where e.item = schema_refusal.value
  ) then
    return array[path, format('%s must be one of %s', subject, schema -> 'enum')];
  end if;

  types := coalesce(schema -> 'anyOf', schema -> 'oneOf');
  if types is not null then
    if not exists (
      select from jsonb_array_elements(types) as t (item)
      where kairos.schema_refusal(schema_refusal.value, t.item, defs, path) is null
    ) then
      return array[path, format('%s fits none of the types that it may have', subject)];
    end if;
  end if;

  if kind = 'object' then
    for name in select * from jsonb_array_elements_text(coalesce(schema -> 'required', '[]')) loop
      if not value ? name then
        return array[ltrim(path || '.' || name, '.'), format('argument %L is missing', ltrim(path || '.' || name, '.'))];
      end if;
    end loop;
    for name, part in select * from jsonb_each(value) loop
      if schema -> 'properties' ? name then
        refusal := kairos.schema_refusal(part, schema -> 'properties' -> name, defs, ltrim(path || '.' || name, '.'));
      elsif schema -> 'additionalProperties' = 'false' then
        refusal := array[ltrim(path || '.' || name, '.'),
          format('argument %L is unknown', ltrim(path || '.' || name, '.'))];
      elsif jsonb_typeof(schema -> 'additionalProperties') = 'object' then
        refusal := kairos.schema_refusal(part, schema -> 'additionalProperties', defs, ltrim(path || '.' || name, '.'));
      end if;
      exit when refusal is not null;
    end loop;
  elsif kind = 'array' and schema ? 'items' then
    select r into refusal
    from jsonb_array_elements(value) with ordinality as e (item, n)
    cross join lateral kairos.schema_refusal(e.item, schema -> 'items', defs, path || '.' || (e.n - 1)) r
    where r is not null order by e.n limit 1;
  end if;
  return refusal;
end $$;
