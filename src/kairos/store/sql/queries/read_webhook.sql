-- read_webhook: where a delivery goes and what signs it, at the time of sending.
select w.url, w.secret, w.paused_at is not null as paused, kairos.now() as now
from kairos.webhooks w where w.id = $1::bigint
