-- Why a value is refused, as {field, sentence}, or null. Messages never contain the value, which may be redacted.

-- A value that a job can store: as the strict JSON codec of the Python side. jsonb itself refuses NUL and half surrogate pairs.
create or replace function kairos.value_refusal(value jsonb, field text) returns text[]
language plpgsql immutable as $$
begin
  if octet_length(value::text) > 1048576 then
    return array[field, format('%s takes %s bytes as JSON; the limit is 1048576.', field, octet_length(value::text))];
  elsif jsonb_path_exists(value, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")') then
    return array[field, format('%s is nested more than 64 levels deep.', field)];
  elsif jsonb_path_exists(value, 'strict $.** ? (@.type() == "number" && (@ >= 1e308 || @ <= -1e308))') then
    return array[field, format('%s contains a number beyond 1e308, which programs read as infinity.', field)];
  end if;
  return null;
end $$;

create or replace function kairos.name_refusal(value text, field text) returns text[]
language plpgsql immutable as $$
begin
  if value = '' then
    return array[field, format('%s is empty; it must be text of 1 to 255 characters.', field)];
  elsif length(value) > 255 then
    return array[field, format('%s has %s characters; the limit is 255.', field, length(value))];
  elsif value ~ '[\x01-\x1f]' then
    return array[field, format('%s contains a control character.', field)];
  end if;
  return null;
end $$;

create or replace function kairos.instant_refusal(value timestamptz, field text) returns text[]
language plpgsql immutable as $$
begin
  if not isfinite(value) or value < '0002-01-01 00:00:00+00' or value >= '9999-01-01 00:00:00+00' then
    return array[field, format('%s is %s; it must be in the years 2 to 9998.', field, value)];
  end if;
  return null;
end $$;

create or replace function kairos.length_refusal(value interval, field text) returns text[]
language plpgsql immutable as $$
begin
  if value < interval '0' then
    return array[field, format('%s is %s, but a length of time cannot be negative.', field, value)];
  elsif value > interval '36525 days' then
    return array[field, format('%s is %s, which is more than a hundred years.', field, value)];
  end if;
  return null;
end $$;

-- A retry policy: `attempts`, and perhaps base, factor, cap and jitter; lengths of time in seconds.
create or replace function kairos.retry_refusal(value jsonb) returns text[]
language plpgsql immutable as $$
declare
  name text;
  given jsonb;
begin
  if jsonb_typeof(value) <> 'object' or not value ? 'attempts' then
    return array['retry', 'retry must be a JSON object with attempts, such as {"attempts": 5, "base": 10}.'];
  end if;
  for name, given in select * from jsonb_each(value) loop
    if name <> all ('{attempts,base,factor,cap,jitter}') then
      return array['retry', format('retry has no member %L; it has attempts, base, factor, cap and jitter.', name)];
    elsif jsonb_typeof(given) <> 'number' then
      return array['retry', format('retry.%s must be a number; lengths of time are in seconds.', name)];
    elsif name = 'attempts' and (given::numeric % 1 <> 0 or given::numeric not between 1 and 2147483647) then
      return array['retry', 'retry.attempts must be a whole number from 1, the first execution included.'];
    elsif name in ('base', 'cap') and given::numeric not between 0 and 3155760000 then
      return array['retry', format('retry.%s must be from 0 seconds to a hundred years.', name)];
    elsif name = 'factor' and given::numeric not between 1 and 1e308 then
      return array['retry', 'retry.factor must be at least 1.'];
    elsif name = 'jitter' and given::numeric not between 0 and 1 then
      return array['retry', 'retry.jitter is a share of the delay: give 0 to 1.'];
    end if;
  end loop;
  return null;
end $$;
