-- delete_webhook: nothing is sent there any more; a delivery under way finds it gone.
delete from kairos.webhooks w where w.id = $1::bigint returning w.id
