-- read_webhook: the address and the signing secret of a webhook, read at the time of each delivery.
select w.url, w.secret, w.paused_at is not null as paused, kairos.now() as now
from kairos.webhooks w where w.id = $1::bigint
