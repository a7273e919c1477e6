"""The routes of webhooks, which receive signed alarms."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import serializers, shapes
from kairos.api import cursors
from kairos.api.responses import answer, caller_of, changed, kairos_of, origin_of, page_answer
from kairos.api.schemas import webhooks as schemas
from kairos.operations import webhooks as operations
from kairos.shapes.job import Job
from kairos.shapes.webhook import Webhook
from kairos.store.query import Operation

router = APIRouter(tags=["webhooks"])


@router.get("/api/webhooks", response_model=schemas.WebhookList)
async def list_webhooks(
    request: Request, cursor: cursors.AfterId = None, limit: cursors.Limit = 500
) -> Response:
    """List the webhooks with their newest deliveries, without their secrets."""
    found = await kairos_of(request).run(operations.webhooks(after=cursor, limit=limit + 1))
    return page_answer(request, "webhooks", *cursors.page(found, limit, lambda webhook: webhook.id))


@router.post("/api/webhooks", response_model=schemas.WebhookMadeAnswer, status_code=201)
async def add_webhook(request: Request, body: schemas.WebhookWanted) -> Response:
    """Create a webhook that receives alarms. Only this answer contains the secret that signs them."""
    made = await kairos_of(request).run(
        operations.add_webhook(body.url, kinds=body.kinds, paused=body.paused, actor=caller_of(request).actor)
    )
    request.state.audit = {"webhook": made.id}
    return answer(request, {"webhook": {**shapes.document(made), "secret": made.secret}}, 201)


@router.patch("/api/webhooks/{id}", response_model=schemas.WebhookAnswer)
async def change_webhook(request: Request, id: int, body: schemas.WebhookChange) -> Response:  # noqa: A002
    """Change the URL or the kinds of a webhook, or pause it; what is left out stays."""
    request.state.audit = changed(body)
    webhook = await kairos_of(request).run(
        operations.change_webhook(id, url=body.url, kinds=body.kinds, paused=body.paused)
    )
    return answer(request, {"webhook": shapes.document(webhook)})


@router.delete("/api/webhooks/{id}", response_model=schemas.WebhookAnswer)
async def remove_webhook(request: Request, id: int) -> Response:  # noqa: A002
    """Delete a webhook; deliveries that are still enqueued are skipped."""
    kairos = kairos_of(request)
    there = await kairos.run(operations.webhook(id))
    await kairos.run(operations.remove_webhook(id))
    return answer(request, {"webhook": shapes.document(there)})


@router.post("/api/webhooks/{id}/test", response_model=schemas.WebhookTest, status_code=202)
async def test_webhook(request: Request, id: int) -> Response:  # noqa: A002
    """Send a signed test to a webhook, also while it is paused."""
    kairos = kairos_of(request)

    def work() -> Operation[tuple[Job, Webhook]]:
        job = yield from operations.try_webhook(id, **origin_of(request))
        return job, (yield from operations.webhook(id))

    # In one transaction: a job that was made is answered, and one that cannot be answered was not made.
    job, webhook = await kairos.transact(work)
    return answer(
        request, {"webhook": shapes.document(webhook), "job": serializers.job(job, kairos.registry)}, 202
    )
