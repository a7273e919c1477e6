-- read_idempotent_response: the stored response to a request with an Idempotency-Key.
select i.fingerprint, i.status, i.body
from kairos.idempotency i where i.caller = $1::text and i.key = $2::text
