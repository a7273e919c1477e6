-- save_idempotent_response: stores the response to a request, in the transaction of the request.
update kairos.idempotency i set status = $3::int, body = $4::text
where i.caller = $1::text and i.key = $2::text
