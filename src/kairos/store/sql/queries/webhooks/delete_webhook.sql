-- delete_webhook: deletes a webhook; a delivery in flight finds it gone and ends.
delete from kairos.webhooks w where w.id = $1::bigint returning w.id
