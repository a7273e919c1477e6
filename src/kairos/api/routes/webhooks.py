"""Webhooks: where alarms are sent to, signed."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import documents
from kairos.api import cursors
from kairos.api import schemas_alarms as schemas
from kairos.api.answer import answer, caller_of, changed, kairos_of
from kairos.store.query import Verb
from kairos.store.rows import Job
from kairos.verbs import webhooks as verbs

router = APIRouter(tags=["webhooks"])


@router.get("/api/webhooks", response_model=schemas.WebhookList)
async def list_webhooks(
    request: Request, cursor: cursors.AfterId = None, limit: cursors.Limit = 500
) -> Response:
    """Every webhook, each with its newest delivery; never with its secret."""
    found = await kairos_of(request).run(verbs.webhooks(after=cursor, limit=limit + 1))
    webhooks, more = cursors.page(found, limit, lambda webhook: webhook.id)
    return answer(request, {"webhooks": [documents.webhook(each) for each in webhooks], "nextCursor": more})


@router.post("/api/webhooks", response_model=schemas.WebhookMadeAnswer, status_code=201)
async def add_webhook(request: Request, body: schemas.WebhookWanted) -> Response:
    """Send alarms to a URL. The secret that signs them is in this answer and in no other."""
    made = await kairos_of(request).run(
        verbs.add_webhook(body.url, kinds=body.kinds, paused=body.paused, actor=caller_of(request).actor)
    )
    request.state.audit = {"webhook": made.id}
    return answer(request, {"webhook": documents.webhook(made)}, 201)


@router.patch("/api/webhooks/{id}", response_model=schemas.WebhookAnswer)
async def change_webhook(request: Request, id: int, body: schemas.WebhookChange) -> Response:  # noqa: A002
    """Change where it leads, what it is sent, or pause it; what is left out stays."""
    request.state.audit = changed(body)
    webhook = await kairos_of(request).run(
        verbs.change_webhook(id, url=body.url, kinds=body.kinds, paused=body.paused)
    )
    return answer(request, {"webhook": documents.webhook(webhook)})


@router.delete("/api/webhooks/{id}", response_model=schemas.WebhookAnswer)
async def remove_webhook(request: Request, id: int) -> Response:  # noqa: A002
    """Send nothing there any more; a delivery under way finds it gone."""
    kairos = kairos_of(request)
    there = await kairos.run(verbs.webhook(id))
    await kairos.run(verbs.remove_webhook(id))
    return answer(request, {"webhook": documents.webhook(there)})


@router.post("/api/webhooks/{id}/test", response_model=schemas.WebhookTest, status_code=202)
async def test_webhook(request: Request, id: int) -> Response:  # noqa: A002
    """Send it a test, signed like an alarm, by the same kind of job; also while it is paused."""
    kairos = kairos_of(request)
    actor, request_id = caller_of(request).actor, request.state.request_id

    def work() -> Verb[tuple[Job, verbs.Webhook]]:
        job = yield from verbs.try_webhook(id, actor=actor, request_id=request_id)
        return job, (yield from verbs.webhook(id))

    # In one transaction: a job that was made is answered, and one that cannot be answered was not made.
    job, webhook = await kairos.transact(work)
    return answer(
        request, {"webhook": documents.webhook(webhook), "job": documents.job(job, kairos.registry)}, 202
    )
