"""A webhook receiver: check the signature, store the event as a job, answer at once; a repeated event is one job.

$ KAIROS_DATABASE_URL=… uvicorn --app-dir examples/recipes webhook_receiver:web
$ kairos worker examples/recipes/webhook_receiver.py
"""

import asyncio
import hashlib
import hmac
import json
import os
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from kairos import Backoff, Kairos

app = Kairos()
SECRET = os.environ.get("WEBHOOK_SECRET", "whsec_example").encode()


@app.job(queue="webhooks", retry=Backoff(attempts=10, base="1s", cap="1h"))
async def payment_event(event: dict[str, Any]) -> str:
    return f"{event['type']} of {event['amount']}"


async def receive(request: Request) -> JSONResponse:
    """Answer within milliseconds: senders give up after a few seconds and send again."""
    body = await request.body()
    expected = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, request.headers.get("X-Signature", "")):
        return JSONResponse({"error": "the signature does not match"}, 401)
    event = json.loads(body)
    # "ever": the event's id stays taken after the job has ended, for as long as the job is kept.
    once = payment_event.options(unique=f"event:{event['id']}", unique_scope="ever", if_taken="return")
    job = await once.enqueue(event=event)
    return JSONResponse({"job": job.id, "new": job.is_new}, 202)


web = Starlette(routes=[Route("/webhooks/payments", receive, methods=["POST"])])


async def main() -> None:
    import httpx2

    transport = httpx2.ASGITransport(app=web)
    async with (
        app,
        app.worker(),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        body = json.dumps({"id": "evt_1", "type": "payment", "amount": 900}).encode()
        signed = {"X-Signature": hmac.new(SECRET, body, hashlib.sha256).hexdigest()}
        first = await http.post("/webhooks/payments", content=body, headers=signed)
        again = await http.post("/webhooks/payments", content=body, headers=signed)
        forged = await http.post("/webhooks/payments", content=body, headers={"X-Signature": "0"})
        print("statuses ->", first.status_code, again.status_code, forged.status_code)
        print("one job ->", first.json()["job"] == again.json()["job"], again.json()["new"])
        print("event ->", await app.result(first.json()["job"], timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
