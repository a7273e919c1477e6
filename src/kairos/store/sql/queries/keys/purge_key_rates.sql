-- purge_key_rates: deletes the rate rows of keys that have their full budget again: a key without a row has it too.
-- Guard: now >= rate_full_until.
delete from kairos.key_rates r where r.rate_full_until <= kairos.now() and r.opens_at is null
