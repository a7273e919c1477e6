-- delete_webhook: deletes a webhook; a delivery that runs at the time finds no webhook and ends.
delete from kairos.webhooks w where w.id = $1::bigint returning w.id
