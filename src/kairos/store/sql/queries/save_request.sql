-- save_request: keeps the answer to a request, in the transaction of what the request did.
update kairos.idempotency i set status = $3::int, body = $4::text
where i.caller = $1::text and i.key = $2::text
