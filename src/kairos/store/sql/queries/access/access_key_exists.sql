-- access_key_exists: whether any access key was ever created, valid or not.
select exists (select from kairos.keys) as found
