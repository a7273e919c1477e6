-- any_key: whether there ever was a key, good or not.
select exists (select from kairos.keys) as found
