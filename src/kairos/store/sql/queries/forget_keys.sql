-- forget_keys: drops the rates of keys whose starts are all paid off: no row means the same.
-- Guard: now >= rate_full_until.
delete from kairos.key_rates r where r.rate_full_until <= kairos.now() and r.opens_at is null
